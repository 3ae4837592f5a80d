/*
 * The colours of data: searched in OKLCH so that the smallest difference stays large for people with any colour
 * vision, each at least 3:1 on its surface. Canvas takes the hex; CSS takes var(--data-NAME) of css/tokens.css.
 */
import { computed, signal } from "@preact/signals";
import { theme } from "./theme";
import type { Theme } from "./theme";

export const COLOURS = ["blue", "orange", "teal", "purple", "red", "grey", "sky"] as const;
export type Colour = (typeof COLOURS)[number];

export const HEX: Record<Theme, Record<Colour, string>> = {
	light: {
		blue: "#4571d4",
		orange: "#c86f13",
		teal: "#12715a",
		purple: "#764297",
		red: "#b42f0d",
		grey: "#84888f",
		sky: "#179fd4",
	},
	dark: {
		blue: "#5581e3",
		orange: "#edb154",
		teal: "#72e9d9",
		purple: "#975a9b",
		red: "#f0764f",
		grey: "#9498a0",
		sky: "#51b9f6",
	},
};

/* In this order for the parts of a whole. Red says "leaked" and grey says "the rest", so neither is a part. */
export const SERIES: readonly Colour[] = ["blue", "teal", "purple", "orange", "sky"];

/* The surfaces and inks that canvases need. */
export const INK: Record<
	Theme,
	Record<"surface" | "text" | "muted" | "grid" | "line" | "accent" | "sunken", string>
> = {
	light: {
		surface: "#ffffff",
		text: "#141a24",
		muted: "#5b6575",
		grid: "#eceff4",
		line: "#dfe3ea",
		accent: "#2d5bd7",
		sunken: "#eef0f4",
	},
	dark: {
		surface: "#141921",
		text: "#e8ecf3",
		muted: "#98a3b3",
		grid: "#1e2530",
		line: "#29313d",
		accent: "#7ea3ff",
		sunken: "#0f131a",
	},
};

export const hex = computed(() => HEX[theme.value]);
export const ink = computed(() => INK[theme.value]);

/* The tape's modules with the most memory (names without folders), in order: every page paints a module alike. Set by the app. */
export const rankedModules = signal<readonly string[]>([]);
const moduleColours = computed(
	() => new Map(rankedModules.value.slice(0, SERIES.length).map((m, i) => [m, SERIES[i]!])),
);

export function moduleColour(module: string | null): Colour {
	return (module !== null && moduleColours.value.get(module.slice(module.lastIndexOf("/") + 1))) || "grey";
}

export function cssColour(colour: Colour): string {
	return `var(--data-${colour})`;
}

/* "#4571d4", .3 -> a colour for a canvas */
export function alpha(colour: string, opacity: number): string {
	return (
		colour +
		Math.round(opacity * 255)
			.toString(16)
			.padStart(2, "0")
	);
}
