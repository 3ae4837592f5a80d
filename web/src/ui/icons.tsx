/* Line icons on a grid of 16. */
import type { JSX } from "preact";

export type Icon = () => JSX.Element;

const draw =
	(d: string): Icon =>
	() => (
		<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
			<path d={d} />
		</svg>
	);

export const IconOverview = draw("M2 14h12M3.5 11.5v-4M6.5 11.5v-8M9.5 11.5v-5M12.5 11.5v-9");
export const IconFlame = draw("M2 3.5h12M2 7h8M2 10.5h9M2 14h4");
export const IconTree = draw("M2.5 2v10.5H7M2.5 6H7M7 4h6.5v4H7zM7 10.5h6.5v4H7z");
export const IconSites = draw("M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z");
export const IconAllocations = draw("M5.5 3.5h9M5.5 8h9M5.5 12.5h9M2 3.5h.6M2 8h.6M2 12.5h.6");
export const IconSource = draw("M5.5 4 1.8 8l3.7 4M10.5 4l3.7 4-3.7 4");
export const IconLeaks = draw("M8 1.8C6 4.8 3.7 7 3.7 9.8a4.3 4.3 0 0 0 8.6 0C12.3 7 10 4.8 8 1.8z");
export const IconClock = draw("M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 4.6V8l2.3 1.6");
export const IconSpace = draw("M1.8 3.5h12.4v9H1.8zM5 3.5v9M8 3.5v9M11 3.5v9");
export const IconThreads = draw("M2.5 2c0 6 11 6 11 12M13.5 2c0 6-11 6-11 12");
export const IconFamily = draw("M2.5 2v9.5h4M2.5 6.5h4M9 5h4.5v3H9zM9 10h4.5v3H9z");
export const IconMaps = draw("M3 2h10v12H3zM3 6h10M3 10h10");
export const IconProcesses = draw(
	"M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 5.6a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8",
);
export const IconTapes = draw("M1.8 4h4.4l1.6 2h6.4v6.5H1.8zM1.8 4v8.5");
export const IconCompare = draw("M5 13.5v-11M5 2.5 2.2 5.3M5 2.5l2.8 2.8M11 2.5v11M11 13.5l-2.8-2.8M11 13.5l2.8-2.8");
export const IconConsole = draw("M2 4l4 4-4 4M8.5 12.5H14");
export const IconFilter = draw("M1.8 2.5h12.4L9.5 8v5.5L6.5 12V8z");
export const IconExport = draw("M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.8h11");
export const IconLink = draw(
	"M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.6-2.6a2.6 2.6 0 0 0-3.7-3.7L8.6 3.7M9.2 6.8a2.6 2.6 0 0 0-3.7 0L2.9 9.4a2.6 2.6 0 0 0 3.7 3.7l.8-.8",
);
export const IconMoon = draw("M13.8 9.6A6 6 0 0 1 6.4 2.2a6 6 0 1 0 7.4 7.4z");
export const IconSun = draw(
	"M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.4M8 13.6V15M1 8h1.4M13.6 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
);
export const IconHelp = draw(
	"M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM6.2 6.2a1.8 1.8 0 1 1 2.6 1.6c-.5.3-.8.6-.8 1.2M8 11.4v.1",
);
export const IconSearch = draw("M7 2.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6zM10.6 10.6 14 14");
export const IconClose = draw("M4 4l8 8M12 4l-8 8");
export const IconWarning = draw("M8 2 1.6 13.6h12.8zM8 6.4v3.4M8 11.7v.1");
export const IconCheck = draw("M3 8.5 6.5 12 13 4.5");
export const IconChevron = draw("M4 6l4 4 4-4");
export const IconArrow = draw("M3 8h10M9 4l4 4-4 4");
export const IconTable = draw("M2 3h12v10H2zM2 6.5h12M6.5 6.5V13");
export const IconFlag = draw("M4 14.5V2h8.5l-2 3 2 3H4");
export const IconCopy = draw("M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3");
export const IconCamera = draw("M1.5 5h3l1.5-2h4l1.5 2h3v8h-13zM8 6.5a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4");
export const IconStop = draw("M3.5 3.5h9v9h-9z");
export const IconPause = draw("M5 3v10M11 3v10");
export const IconLock = draw("M3.8 7.2h8.4v6.3H3.8zM5.6 7.2V4.9a2.4 2.4 0 0 1 4.8 0v2.3");
export const IconPlay = draw("M4.5 2.5v11L13 8z");
