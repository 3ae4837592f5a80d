/* The web app of memtape. */
import "./css/fonts.css";
import "./css/tokens.css";
import "./css/base.css";
import "./css/ui.css";
import "./css/app.css";
import { render } from "preact";
import { App } from "./app";
import { keysInit } from "./keys";
import { sessionInit } from "./session";
import { storeInit } from "./store";
import { themeInit } from "./theme";
import { copyInit } from "./ui/cells";
import { laterLoad } from "./ui/later";

storeInit();
themeInit();
keysInit();
copyInit();
sessionInit();
render(<App />, document.getElementById("app")!);
setTimeout(() => void laterLoad().catch(() => undefined), 2000); /* while the first page is being looked at */
