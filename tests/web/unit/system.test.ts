import assert from "node:assert/strict";
import { test } from "node:test";
import type { UsageStep } from "../../../web/src/api/types";
import { boundOf, eventOf, linesOf, pathOf } from "../../../web/src/maps/system";

const row = (more: Partial<UsageStep>): UsageStep =>
	new Proxy({ ns: 0, ...more } as UsageStep, { get: (step, key) => (key in step ? Reflect.get(step, key) : null) });

test("only what is known has a line, and nothing unknown is a zero", () => {
	const rows = [
		row({ used: 25, memory: 100 }),
		row({}),
		row({ ns: 2, used: 75, memory: 100, swap_used: 0, swap: 0 }),
	];
	const lines = linesOf(rows);
	assert.deepEqual(
		lines.map((line) => line.title),
		["Memory used"],
	);
	assert.equal(
		pathOf(
			rows,
			lines[0]!,
			(ns) => ns,
			(percent) => percent,
		),
		"M0.0 25.0L2.0 75.0",
	);
	assert.equal(lines[0]!.text(rows[1]!), "not known");
});

test("a cgroup is measured by the lower of its two limits", () => {
	assert.equal(boundOf(row({ cgroup_limit: 200, cgroup_high: 100 })), 100);
	assert.equal(boundOf(row({ cgroup_limit: 200 })), 200);
	assert.equal(boundOf(row({})), null);
	const [line] = linesOf([row({ cgroup_working_set: 50, cgroup_limit: 200, cgroup_high: 100 })]);
	assert.equal(line?.share(row({ cgroup_working_set: 50, cgroup_limit: 200, cgroup_high: 100 })), 50);
});

test("kills are worse than hits of a limit, and the program's own are named first", () => {
	assert.equal(eventOf(row({ oom_kills: 0, cgroup_limit_hits: 0 })), null);
	assert.equal(
		eventOf(row({ cgroup_limit_hits: 2, cgroup_high_hits: 1 }))?.text,
		"3 times at the limit of the cgroup",
	);
	assert.equal(eventOf(row({ cgroup_limit_hits: 2, oom_kills: 1 }))?.text, "1 killed on the machine");
	assert.equal(eventOf(row({ oom_kills: 2, cgroup_oom_kills: 1 }))?.text, "1 killed in the cgroup");
});
