import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../../web/src/format";

test("bytes have three digits and a unit of 1024", () => {
	const rows: [number, string][] = [
		[0, "0 B"],
		[1, "1 B"],
		[1023, "1023 B"],
		[1024, "1.00 KiB"],
		[1536, "1.50 KiB"],
		[10 * 1024, "10.0 KiB"],
		[999 * 1024, "999 KiB"],
		[1020 * 1024 * 1024, "1020 MiB"],
		[1023.9 * 1024, "1.00 MiB"],
		[1.24 * 2 ** 30, "1.24 GiB"],
		[-2048, "\u22122.00 KiB"],
		[80.4, "80.4 B"],
	];
	for (const [value, text] of rows) assert.equal(format.bytes(value), text);
});

test("neighbours that are different read differently", () => {
	const column = [13107200, 13107200, 13149000, 13149016, 99, 12345, 12349];
	const bytes = (i: number) =>
		format.apart(
			column[i]!,
			format.beside(i, (n) => column[n]),
			format.bytes,
		);
	assert.deepEqual(
		column.map((_, i) => bytes(i)),
		["12.50 MiB", "12.50 MiB", "12.53986 MiB", "12.53988 MiB", "99 B", "12.056 KiB", "12.060 KiB"],
	);
	assert.equal(format.apart(12345, [12341, undefined], format.count), "12.35 k");
	assert.equal(format.apart(12345, [null, 99, 12345], format.count), "12.3 k");
	assert.equal(format.apart(2 ** 40, [2 ** 40 + 1], format.bytes), "1.000000 TiB"); /* there is an end to it */
	assert.equal(format.bytes(1023.96 * 1024, 4), "1.000 MiB");
	assert.equal(format.bytes(1023.9 * 1024, 5), "1023.9 KiB");
});

test("ticks have no needless zeros", () => {
	assert.equal(format.tickBytes(24 * 2 ** 20), "24 MiB");
	assert.equal(format.tickBytes(1.5 * 2 ** 30), "1.5 GiB");
	assert.equal(format.tickBytes(100 * 2 ** 10), "100 KiB");
});

test("small counts are exact, large ones have three digits", () => {
	assert.equal(format.count(9999), "9,999");
	assert.equal(format.count(12345), "12.3 k");
	assert.equal(format.count(999950), "1.00 M");
	assert.equal(format.exact(1234567), "1,234,567");
	assert.equal(format.exact(0.5), "0.5");
});

test("a duration has the unit in which it is read", () => {
	const rows: [number, string][] = [
		[0, "0 ns"],
		[999, "999 ns"],
		[1500, "1.5 \u00b5s"],
		[310e6, "310 ms"],
		[1.9e9, "1.9 s"],
		[100e6, "100 ms"],
		[128e9, "2 min 08 s"],
		[3720e9, "1 h 02 min"],
		[59.96e9, "1 min 00 s"],
		[50 * 3600e9, "2 d 2 h"],
	];
	for (const [ns, text] of rows) assert.equal(format.duration(ns), text);
});

test("moments have as many digits as tell the tape's moments apart", () => {
	assert.equal(format.moment(47.1e9, 128e9), "00:47.1");
	assert.equal(format.moment(59.99e9, 128e9), "01:00.0");
	assert.equal(format.moment(3723e9, 7200e9), "1:02:03");
	assert.equal(format.moment(1.5e9, 4e9), "1.500 s");
	assert.equal(format.moment(12.3456e6, 900e6), "12.3 ms");
	assert.equal(format.moment(0, 0), "0.000000 \u00b5s");
});

test("a share that is there is never shown as none", () => {
	assert.equal(format.percent(0), "0.0 %");
	assert.equal(format.percent(0.0001), "<0.1 %");
	assert.equal(format.percent(0.322), "32.2 %");
	assert.equal(format.percent(0 / 0), "\u2014");
});

test("one thing is not things", () => {
	assert.equal(format.counted(1, "sample"), "1 sample");
	assert.equal(format.counted(0, "sample"), "0 samples");
	assert.equal(format.counted(1200, "sample"), `${format.exact(1200)} samples`);
});
