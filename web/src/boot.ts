/*
 * Before the first paint: the theme. And what the first page asks for is asked here, while the app itself is on its way. In a
 * report this is one script with the app: no name of it may be at the top.
 */
(() => {
	const TOKEN_KEY = "memtape.token",
		EARLY_MS = 5000; /* the key is store.ts's */

	function stored(storage: () => Storage, key: string): string | null {
		try {
			return storage().getItem(key);
		} catch {
			return null; /* no storage */
		}
	}

	const chosen = stored(() => localStorage, "memtape.theme.v1");
	document.documentElement.dataset.theme =
		chosen === "light" || chosen === "dark"
			? chosen
			: matchMedia("(prefers-color-scheme: dark)").matches
				? "dark"
				: "light";

	/* #/PAGE?KEY=VALUE&..., or #k=TOKEN: url.ts. */
	const [, page = "", query = ""] = /^#(?:\/([^?]*)\??)?(.*)$/.exec(location.hash) ?? [];
	const address = new URLSearchParams(query);
	const token = address.get("k") ?? stored(() => sessionStorage, TOKEN_KEY);
	const early: Record<string, Promise<Response>> = {}; /* by address; api/client.ts takes each once */

	function ask(path: string): void {
		const url = `/api/v1/${path}`;
		early[url] = fetch(url, { headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: "no-store" });
		early[url].catch(() => undefined); /* who takes it says what is wrong */
	}

	const given = address.get("c") ?? "",
		c = /^[0-9a-f]{32}$/.test(given) ? given : "last";
	if (!document.getElementById("capture")) {
		/* a report has its answers in it */
		ask("info");
		ask("fields");
		ask(`tape?c=${c}`);
		if ((page === "" || page === "overview") && !address.has("t") && !address.has("q")) ask(`summary?c=${c}`);
		setTimeout(() => Object.keys(early).forEach((url) => delete early[url]), EARLY_MS);
	}
	Object.assign(globalThis, { memtapeEarly: early });
})();
export {};
