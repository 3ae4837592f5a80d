import assert from "node:assert/strict";
import { test } from "node:test";
import { href, searchesSet, selection } from "../../../web/src/store";
import { START } from "../../../web/src/url";

test("what is searched goes along to pages that search the same, and to no other", () => {
	searchesSet("graph", "frames");
	searchesSet("table", "frames");
	searchesSet("files", "sources");
	selection.value = { ...START, page: "graph", options: { find: "x", by: "y", open: "1", lay: "up" } };
	assert.equal(href({ page: "table" }), "#/table?v=1&find=x&lay=up");
	assert.equal(href({ page: "files" }), "#/files?v=1&lay=up");
	assert.equal(href({ page: "other" }), "#/other?v=1&lay=up");
	assert.equal(href({ page: "files", options: { find: "z", by: "w" } }), "#/files?v=1&by=w&find=z");
	selection.value = { ...START, page: "other", options: { find: "x" } };
	assert.equal(href({ page: "third" }), "#/third?v=1"); /* pages that declare nothing share nothing */
});
