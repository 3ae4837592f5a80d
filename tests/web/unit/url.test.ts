import assert from "node:assert/strict";
import { test } from "node:test";
import { fragmentFormat, fragmentParse, secondsParse, secondsText, START } from "../../../web/src/url";
import type { Selection } from "../../../web/src/url";

const FULL: Selection = {
	page: "flame",
	tape: "0123456789abcdef0123456789abcdef",
	range: { from: 28e9, until: 62_500_000_001 },
	at: 98e9,
	filter: 'size >= 4KiB and module != "libc.so.6" or function ~ "a&b=c#d+e"',
	metric: "leaked",
	path: ["7c1e03bd91aa0001", "7c1e03bd91aa0002"],
	frame: "91aa7c1e03bd0003",
	options: { lay: "icicle", col: "module", "from-the-future": "kept & safe" },
};

test("an address brings back the whole selection", () => {
	assert.deepEqual(fragmentParse(fragmentFormat(FULL)).selection, FULL);
	assert.deepEqual(fragmentParse(fragmentFormat(START)).selection, START);
});

test("the token is read and never written", () => {
	const { token, selection } = fragmentParse("#k=secret");
	assert.equal(token, "secret");
	assert.deepEqual(selection, START);
	assert.ok(!fragmentFormat(selection).includes("secret"));
	assert.equal(fragmentParse("#/flame?v=1&k=secret&q=leaked").token, "secret");
	assert.deepEqual(fragmentParse("#/flame?v=1&k=secret").selection.options, {});
});

test("what cannot be read is as if it were not there", () => {
	for (const fragment of [
		"",
		"#",
		"#/",
		"#/?",
		"#/overview?t=5..2&c=zz&at=x&m=Nonsense!&z=..&s=1",
		"#?%",
		"#/overview?t=1e9..2e9&q=",
	])
		assert.deepEqual(fragmentParse(fragment).selection, START, fragment);
});

test("nanoseconds survive as seconds", () => {
	for (const ns of [0, 1, 999_999_999, 1_000_000_000, 62_500_000_001, 4_566_018_758, 123_456_789_012_345])
		assert.equal(secondsParse(secondsText(ns)), ns);
	assert.equal(secondsText(62_500_000_000), "62.5");
	assert.equal(secondsParse("1.0000000001"), null);
	assert.equal(secondsParse("-1"), null);
});
