import assert from "node:assert/strict";
import { test } from "node:test";
import { requestOf } from "../../../web/src/frame/export";
import { measuresInOrder } from "../../../web/src/measures";
import { info } from "../../../web/src/store";
import type { Info, Tape } from "../../../web/src/api/types";
import {
	capital,
	countOfKey,
	goesOn,
	measureKnown,
	measureOf,
	measureTitle,
	sumOfKey,
	vocabulary,
} from "../../../web/src/vocabulary";
import type { ExportFormat, Measure, Vocabulary } from "../../../web/src/vocabulary";

const measure = (word: string, more: Partial<Measure> = {}): Measure => ({
	word,
	title: `${word} bytes`,
	title_so_far: `${word} bytes so far`,
	unit: "bytes",
	doc: "",
	sort: null,
	at: false,
	scan: false,
	spans: false,
	in_reports: false,
	...more,
});
const format = (more: Partial<ExportFormat> = {}): ExportFormat => ({
	name: "folded",
	summary: "",
	kind: "sums",
	has_metric: true,
	path: null,
	...more,
});

test("measures are those of the server, those of its commands first", () => {
	assert.equal(measureTitle("peak"), "Peak"); /* before the server has said anything */
	assert.equal(measureKnown("what is this", "peak"), "what is this");
	vocabulary.value = {
		measures: [measure("live", { at: true }), measure("peak", { in_reports: true })],
	} as Vocabulary;
	assert.deepEqual(
		measuresInOrder().map((m) => m.word),
		["peak", "live"],
	);
	assert.equal(measureTitle("peak"), "Peak bytes");
	goesOn.value = true;
	assert.equal(measureTitle("peak"), "Peak bytes so far");
	goesOn.value = false;
	assert.equal(measureOf("live").at, true);
	assert.equal(measureKnown("live", "peak"), "live");
	assert.equal(measureKnown("what is this", "peak"), "peak");
});

test("a measure of leak scans is offered for a tape that has one", () => {
	const offered = (has: Partial<NonNullable<Tape["has"]>>) => {
		info.value = { tapes: [{ id: "1", has }] } as unknown as Info;
		return measuresInOrder().map((m) => m.word);
	};
	vocabulary.value = { measures: [measure("peak"), measure("retained", { scan: true })] } as Vocabulary;
	assert.deepEqual(offered({ leak_scan: true }), ["peak", "retained"]);
	assert.deepEqual(offered({ leak_scan: false }), ["peak"]);
	assert.equal(measureKnown("retained", "peak"), "retained"); /* of an address: the server says why not */
});

test("a key of groups names one of their sums", () => {
	assert.equal(sumOfKey("leaked_size"), "leaked_size");
	assert.equal(sumOfKey("temporary_count"), "temporary_count");
	assert.equal(sumOfKey("size"), "size");
	assert.equal(sumOfKey("allocated_count"), "allocated_count");
	assert.equal(sumOfKey("lifetime_p50"), null);
	assert.equal(countOfKey("size"), "allocated_count");
	assert.equal(countOfKey("leaked_size"), "leaked_count");
	assert.equal(capital("alive"), "Alive");
});

test("a file is asked for in the measure that it can have", () => {
	const peak = measure("peak", { in_reports: true }),
		live = measure("live", { at: true }),
		wasted = measure("wasted"),
		retained = measure("retained", { scan: true });
	assert.deepEqual(requestOf(format(), peak), { path: "export", params: { c: "last", to: "folded", m: "peak" } });
	assert.deepEqual(requestOf(format(), live), { path: "export", params: { c: "last", to: "folded", at: "peak" } });
	assert.equal(requestOf(format(), wasted), null);
	assert.deepEqual(requestOf(format(), retained)?.params, { c: "last", to: "folded", m: "retained" });
	assert.deepEqual(requestOf(format({ has_metric: false }), retained)?.params, { c: "last", to: "folded" });
	assert.deepEqual(requestOf(format({ has_metric: false }), wasted)?.params, { c: "last", to: "folded" });
	assert.deepEqual(requestOf(format({ kind: "events", has_metric: false }), live)?.params, {
		c: "last",
		to: "folded",
	});
	assert.equal(requestOf(format({ path: "/api/v1/export/flamegraph.svg" }), wasted)?.path, "export/flamegraph.svg");
	const page = format({ kind: "everything", has_metric: false, path: "/api/v1/export/report.html" });
	assert.deepEqual(requestOf(page, wasted), { path: "export/report.html", params: { c: "last" } });
});
