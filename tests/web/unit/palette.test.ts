import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { COLOURS, HEX, INK } from "../../../web/src/palette";

const channel = (v: number) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const linear = (hex: string) =>
	[1, 3, 5].map((i) => channel(parseInt(hex.slice(i, i + 2), 16) / 255)) as [number, number, number];
const luminance = (hex: string) => {
	const [r, g, b] = linear(hex);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a: string, b: string) => {
	const [l, m] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
	return (l + 0.05) / (m + 0.05);
};

function oklab([r, g, b]: readonly [number, number, number]): [number, number, number] {
	const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b),
		m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b),
		s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
	return [
		0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
		1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
		0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
	];
}

/* Machado, Oliveira and Fernandes 2009, full severity, on linear light. */
const SEEN: Record<string, number[][]> = {
	normal: [
		[1, 0, 0],
		[0, 1, 0],
		[0, 0, 1],
	],
	protan: [
		[0.152286, 1.052583, -0.204868],
		[0.114503, 0.786281, 0.099216],
		[-0.003882, -0.048116, 1.051998],
	],
	deutan: [
		[0.367322, 0.860646, -0.227968],
		[0.280085, 0.672501, 0.047413],
		[-0.01182, 0.04294, 0.968881],
	],
	tritan: [
		[1.255528, -0.076749, -0.178779],
		[-0.078411, 0.930809, 0.147602],
		[0.004733, 0.691367, 0.3039],
	],
};

for (const theme of ["light", "dark"] as const) {
	test(`colours of data stand out from the ${theme} surface`, () => {
		for (const name of COLOURS)
			assert.ok(
				contrast(HEX[theme][name], INK[theme].surface) >= 3,
				`${name} ${contrast(HEX[theme][name], INK[theme].surface)}`,
			);
		assert.ok(contrast(INK[theme].text, INK[theme].surface) >= 7);
		assert.ok(contrast(INK[theme].muted, INK[theme].surface) >= 4.5);
	});

	test(`colours of data differ for everybody in the ${theme} theme`, () => {
		for (const [kind, matrix] of Object.entries(SEEN)) {
			const labs = COLOURS.map((name) => {
				const rgb = linear(HEX[theme][name]);
				const seen = matrix.map((row) =>
					Math.max(0, Math.min(1, row[0]! * rgb[0] + row[1]! * rgb[1] + row[2]! * rgb[2])),
				);
				return oklab(seen as [number, number, number]);
			});
			for (let i = 0; i < labs.length; i++)
				for (let j = 0; j < i; j++) {
					const apart = 100 * Math.hypot(...labs[i]!.map((v, k) => v - labs[j]![k]!));
					assert.ok(apart >= 8, `${kind}: ${COLOURS[i]} and ${COLOURS[j]} are ${apart.toFixed(1)} apart`);
				}
		}
	});

	test(`the style sheet has the same colours in the ${theme} theme`, () => {
		const css = readFileSync(process.env.MEMTAPE_WEB + "/src/css/tokens.css", "utf8");
		const part =
			theme === "light"
				? css.slice(0, css.indexOf('[data-theme="dark"]'))
				: css.slice(css.indexOf('[data-theme="dark"]'));
		for (const name of COLOURS) assert.ok(part.includes(`--data-${name}: ${HEX[theme][name]};`), name);
		assert.ok(part.includes(`--text: ${INK[theme].text};`) && part.includes(`--text-3: ${INK[theme].muted};`));
	});
}
