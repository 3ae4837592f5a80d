/* Pages that are rarely the first: they come in a file of their own, when the first one is on the screen (ui/later.tsx). */
export { ComparePage } from "./compare/page";
export { ConsolePage } from "./console/page";
export { HelpWords } from "./help/words";
export { LeaksPage } from "./leaks/page";
export { LifetimesPage } from "./lifetimes/page";
export { MapsPage } from "./maps/page";
export { MyCodeForm } from "./mycode/form";
export { ProcessesPage } from "./processes/page";
export { SourcePage } from "./source/page";
export { SpacePage } from "./space/page";
export { TapesPage } from "./tapes/page";
export { FamilyPage } from "./family/page";
export { ThreadsPage } from "./threads/page";
