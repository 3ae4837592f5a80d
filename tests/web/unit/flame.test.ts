import assert from "node:assert/strict";
import { test } from "node:test";
import type { Flame } from "../../../web/src/api/types";
import { namespaceOf, painterOf } from "../../../web/src/flame/colours";
import {
	boxAt,
	boxByPath,
	childrenOf,
	graphOf,
	largestOf,
	fullNameOf,
	matchesOf,
	nameOf,
	pathOf,
	searchOf,
	stepFrom,
} from "../../../web/src/flame/graph";
import { searchTerm } from "../../../web/src/flame/share";
import { rankedModules } from "../../../web/src/palette";

/* A tree with random shares, merged slivers at the end of some. */
function random(seed: number): Flame {
	const next = () => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return seed / 2147483648;
	};
	const names = ["all", "main", "a::b", "a::c", "parse", "list_grow", "x"];
	const flame: Flame = {
		gen: 0,
		ms: 0,
		m: "peak",
		total: 100000,
		unit: "bytes",
		boxes: 0,
		of: 0,
		root: [],
		root_names: [],
		names,
		briefs: names.map((name) => name.replace(/^a::/, "")),
		root_briefs: [],
		modules: ["p"],
		hashes: names.map((_, i) => `${i}`.padStart(16, "0")),
		name_module: names.map(() => 0),
		role: names.map(() => 0),
		parent: [-1],
		name: [0],
		value: [100000],
		self: [0],
		begin: [0],
		count: [1],
		depth: [0],
		file: [null],
		line: [0],
	};
	for (let box = 0; box < flame.value.length && flame.value.length < 400; box++) {
		let rest = flame.value[box]!,
			begin = flame.begin[box]!;
		if (flame.name[box]! < 0 || flame.depth[box]! > 12) continue;
		const kids = Math.floor(next() * 4);
		for (let i = 0; i < kids && rest > 10; i++) {
			const value = Math.floor(rest * next() * 0.8),
				merged = i === kids - 1 && i > 0;
			if (value <= 0) break;
			flame.parent.push(box);
			flame.name.push(merged ? -1 : 1 + ((box + i) % (names.length - 1)));
			flame.value.push(value);
			flame.self.push(0);
			flame.begin.push(begin);
			flame.count.push(3);
			flame.depth.push(flame.depth[box]! + 1);
			flame.file.push(null);
			flame.line.push(0);
			begin += value;
			rest -= value;
		}
		flame.self[box] = rest;
	}
	return flame;
}

test("children and what is its own add up to every box", () => {
	for (let seed = 1; seed < 20; seed++) {
		const graph = graphOf(random(seed));
		graph.flame.value.forEach((value, box) => {
			const kids = [...childrenOf(graph, box)].reduce((sum, kid) => sum + graph.flame.value[kid]!, 0);
			assert.ok(kids <= value);
			for (const kid of childrenOf(graph, box)) assert.equal(graph.flame.parent[kid], box);
		});
		assert.equal(
			graph.rows.reduce((n, row) => n + row.length, 0),
			graph.flame.value.length,
		);
	}
});

test("the box under the pointer is the one a search of all boxes finds", () => {
	for (let seed = 1; seed < 12; seed++) {
		const graph = graphOf(random(seed)),
			{ begin, value, depth } = graph.flame;
		for (let d = 0; d < graph.rows.length + 1; d++)
			for (let at = -10; at <= 100010; at += 997) {
				const expected = begin.findIndex((b, i) => depth[i] === d && at >= b && at < b + value[i]!);
				assert.equal(boxAt(graph, d, at), expected, `seed ${seed}, depth ${d}, at ${at}`);
			}
	}
});

test("a box begins where it begins and has ended where it ends", () => {
	const graph = graphOf(random(4)),
		{ begin, value, depth } = graph.flame;
	begin.forEach((at, box) => {
		assert.equal(boxAt(graph, depth[box]!, at), box);
		assert.equal(boxAt(graph, depth[box]!, at + value[box]! - 1), box);
		assert.notEqual(boxAt(graph, depth[box]!, at + value[box]!), box);
	});
});

test("a path leads back to its box", () => {
	const graph = graphOf(random(7));
	graph.flame.value.forEach((_, box) => {
		const path = pathOf(graph, box),
			found = boxByPath(graph, path);
		if (path.every((hash) => hash !== ""))
			/* two siblings of one name: the first */
			assert.deepEqual(pathOf(graph, found), path);
	});
	assert.equal(boxByPath(graph, ["ffffffffffffffff"]), -1);
	assert.equal(boxByPath(graph, []), 0);
});

test("matches within matches count once", () => {
	for (let seed = 1; seed < 20; seed++) {
		const graph = graphOf(random(seed)),
			{ boxes, value } = matchesOf(graph, /^a::/u);
		const is = (box: number) => box > 0 && /^a::/.test(fullNameOf(graph, box) ?? nameOf(graph, box));
		let union = 0;
		graph.flame.value.forEach((v, box) => {
			if (!is(box)) return;
			for (let up = graph.flame.parent[box]!; up >= 0; up = graph.flame.parent[up]!) if (is(up)) return;
			union += v;
		});
		assert.equal(value, union);
		assert.equal(boxes.length, graph.flame.value.filter((_, box) => is(box)).length);
	}
	assert.deepEqual(matchesOf(graphOf(random(3)), null).boxes, []);
});

test("a search is a regular expression where it is one, and capitals count if there are any", () => {
	assert.ok(searchOf("hash.*grow")!.test("HashTable::grow"));
	assert.ok(!searchOf("Hash.*Grow")!.test("HashTable::grow"));
	assert.ok(searchOf("operator new(")!.test("operator new(unsigned long)"));
	assert.ok(searchOf("a[")!.test("a[0]"));
	assert.equal(searchOf(""), null);
});

test("arrows go to the caller, the largest callee and the neighbours, and stay at the edge", () => {
	const graph = graphOf(random(5)),
		first = childrenOf(graph, 0)[0]!;
	assert.equal(stepFrom(graph, 0, "parent"), 0);
	assert.equal(stepFrom(graph, 0, "child"), first);
	assert.equal(stepFrom(graph, first, "parent"), 0);
	assert.equal(stepFrom(graph, 0, "next"), 0);
	for (const row of graph.rows)
		row.forEach((box, i) => {
			assert.equal(stepFrom(graph, box, "next"), row[i + 1] ?? box);
			assert.equal(stepFrom(graph, box, "previous"), row[i - 1] ?? box);
		});
});

test("the largest box of a function", () => {
	const graph = graphOf(random(9)),
		best = largestOf(graph, graph.flame.hashes[2]!);
	for (let box = 0; box < graph.flame.value.length; box++)
		if (graph.flame.name[box] === 2) assert.ok(graph.flame.value[box]! <= graph.flame.value[best]!);
	assert.equal(largestOf(graph, "ffffffffffffffff"), -1);
});

test("namespaces of names", () => {
	for (const [name, space] of [
		["arrow::Buffer::Make", "arrow"],
		["PyList_New", "PyList"],
		["_PyEval_EvalFrame", "PyEval"],
		["main", ""],
		["operator new(unsigned long)", ""],
		["<img src=x>", ""],
	])
		assert.equal(namespaceOf(name!), space, name);
});

test("libraries are grey beside the program's own code, and have colours where there is none", () => {
	const flame = random(3),
		own = flame.names.indexOf("main");
	flame.name_module[0] = -1;
	const fills = (role: (name: number) => number, modules: readonly string[]) => {
		rankedModules.value = modules;
		const painter = painterOf(graphOf({ ...flame, role: flame.names.map((_, i) => role(i)) }), "module", "light");
		return ["main", "parse"].map((name) => painter.fill(flame.name.indexOf(flame.names.indexOf(name))));
	};
	const grey = fills(() => 0, []),
		coloured = fills(() => 0, ["p"]);
	assert.deepEqual(
		fills((name) => (name === own ? 0 : 3), ["p"]),
		[coloured[0], grey[1]],
	);
	assert.deepEqual(
		fills((name) => (name === 0 ? 0 : 3), ["p"]),
		coloured,
	);
	assert.notDeepEqual(coloured, grey);
});

test("a search is a condition of the filter, whatever is quoted in it", () => {
	assert.equal(searchTerm(searchOf("make_node")!), 'function ~ "(?i:make_node)"');
	assert.equal(searchTerm(searchOf("^Parse$")!), 'function ~ "(?:^Parse$)"');
	assert.equal(searchTerm(searchOf("end\\")!), 'function ~ "(?i:end\\\\)"'); // the quote stays one
	assert.equal(searchTerm(searchOf('"x')!), "function ~ '(?i:\"x)'");
});

test("what matches only as it is shortened is no matter of filters", () => {
	const graph = graphOf(random(3));
	assert.equal(matchesOf(graph, /^a::b$/u).isBeyondFilter, false);
	assert.equal(matchesOf(graph, /^b$/u).isBeyondFilter, true);
});
