import assert from "node:assert/strict";
import { test } from "node:test";
import { momentParse } from "../../../web/src/moment";

const CLOCK = { duration: 100e9, peak: 40e9, rssPeak: null, marks: [{ ns: 7e9, text: "loaded (all)" }] };

test("moments as people type them", () => {
	const rows: [string, number | null][] = [
		["12.5", 12.5e9],
		["1:02.5", 62.5e9],
		["0:01:02", 62e9],
		["250ms", 250e6],
		["1m 30s", 90e9],
		["75%", 75e9],
		["start", 0],
		["END", 100e9],
		["peak", 40e9],
		["peak-2s", 38e9],
		["peak + 500ms", 40.5e9],
		["peak-2h", 0],
		["mark(loaded (all))", 7e9],
		["mark(loaded (all))+1s", 8e9],
		["200%", 100e9],
		["peakrss", null],
		["mark(none)", null],
		["", null],
		["x", null],
		["1x", null],
		["-5", null],
		["peak-", null],
		["1:2:3:4", null],
	];
	for (const [text, ns] of rows) assert.equal(momentParse(text, CLOCK), ns, text);
});
