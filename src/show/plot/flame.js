/*
 * The life of a flame graph. The drawing is complete without this script; it adds zoom, search, a
 * card about the frame under the pointer, keys, and fits the graph to the window. Names come from
 * strangers: they only ever become text nodes.
 */
(() => {
	"use strict";
	const NS = "http://www.w3.org/2000/svg";
	const byId = id => document.getElementById(id);
	const svg = byId("frames").ownerSVGElement;
	const isPage = svg === document.documentElement; /* else it is part of one */
	const data = JSON.parse(byId("data").textContent);
	const rects = Array.from(byId("frames").children);
	const labels = byId("labels");
	const outline = byId("outline");
	const tip = byId("tip");
	for (const rect of rects)
		rect.textContent = ""; /* the card tells more */
	const { row, base, margin, top, char } = data.layout;

	/* Frames in the order of the drawing: parents first, siblings from left to right. */
	const frames = data.frames.map(([parent, name, value, calls, bytes, self, file, line, more, after], i) => {
		const [full, module] = data.names[name];
		/* "0x1234 [libfoo.so+0x1234]" is shown without saying it twice. */
		const fn = full.replace(/^0x[0-9a-f]+ \[(.*)\]$/, "$1");
		return { i, parent, fn, module, value, calls, bytes, self, line, before: more, after, sums: more,
			file: file < 0 ? "" : data.files[file], children: [], x: 0, depth: 0,
			shown: true, left: 0, width: 0, y: 0 };
	});
	for (const f of frames.slice(1)) {
		const p = frames[f.parent];
		f.depth = p.depth + 1;
		f.x = p.children.length ? p.next : p.x;
		p.next = f.x + f.value;
		p.children.push(f);
	}
	/* Labels are dark but on a dark palette's colours. */
	for (const f of frames) {
		const rgb = parseInt(rects[f.i].getAttribute("fill").slice(1), 16);
		f.ink = (rgb >> 16) * 299 + (rgb >> 8 & 255) * 587 + (rgb & 255) * 114 < 110000 ? "on-dark" : "";
	}
	const rows = frames.reduce((most, f) => Math.max(most, f.depth), 0) + 1;
	let zoomed = frames[0], selected = null, icicle = data.icicle, hits = new Set(), width = 0;

	const make = (tag, attributes, parent, text) => {
		const element = document.createElementNS(NS, tag);
		for (const key in attributes)
			element.setAttribute(key, attributes[key]);
		if (text !== undefined)
			element.textContent = text;
		parent.appendChild(element);
		return element;
	};

	/* --- numbers ------------------------------------------------------------------- */
	const bytesText = n => {
		const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
		let unit = 0;
		for (; n >= 1024 && unit < units.length - 1; unit++)
			n /= 1024;
		return (unit === 0 ? n : n.toFixed(1)) + " " + units[unit];
	};
	const timeText = n => {
		const units = ["ns", "us", "ms", "s"];
		let unit = 0;
		for (; n >= 1000 && unit < units.length - 1; unit++)
			n /= 1000;
		return Number(n.toPrecision(3)) + " " + units[unit];
	};
	const countText = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
	/* For one unit of work there are parts of bytes and calls. */
	const partText = n => n < 100 && n % 1 ? n.toFixed(2) + (data.is_bytes ? " B" : "") :
		(data.is_bytes ? bytesText : countText)(Math.round(n));
	const valueText = n => data.is_time ? timeText(n) : partText(n / data.scale);
	const changeOf = f => f.after - f.before;
	const changeText = f => (changeOf(f) > 0 ? "+" : changeOf(f) < 0 ? "\u2212" : "") +
		valueText(Math.abs(changeOf(f)));
	const relativeText = f => f.before === f.after ? "the same" : !f.before ? "new" : !f.after ? "gone" :
		(changeOf(f) > 0 ? "+" : "\u2212") + share(Math.abs(changeOf(f)), f.before);
	const share = (part, whole) => (whole ? part * 100 / whole : 0).toFixed(1) + " %";

	/* --- layout -------------------------------------------------------------------- */
	const isAbove = f => {
		for (let z = zoomed.parent; z >= 0; z = frames[z].parent)
			if (z === f.i)
				return true;
		return false;
	};
	const rowTop = depth => top + row * (icicle ? depth : rows - 1 - depth);

	function place() {
		const room = width - 2 * margin;
		const scale = zoomed.value ? room / zoomed.value : 0;
		const begin = zoomed.x, end = zoomed.x + zoomed.value;

		for (const f of frames) {
			const above = f.depth < zoomed.depth && isAbove(f);
			const inside = f.depth >= zoomed.depth && f.x >= begin && f.x + f.value <= end;
			f.left = above ? margin : margin + (f.x - begin) * scale;
			f.width = above ? room : f.value * scale;
			f.y = rowTop(f.depth);
			f.shown = above || (inside && f.width >= .3);
			f.above = above;
		}
	}

	const withoutParameters = fn => fn.replace(/([^ (:])\(.*\)( const)?$/, "$1()");

	function labelOne(f) {
		const fit = Math.floor((f.width - 8) / char);
		if (fit < 3)
			return;
		const value = data.is_diff ? changeText(f) + "  " + valueText(f.after) :
			valueText(f.value) + "  " + share(f.value, frames[0].value);
		const withValue = fit >= f.fn.length + value.length + 3;
		const name = f.fn.length <= fit ? f.fn : withoutParameters(f.fn);
		make("text", { x: f.left + 4, y: f.y + base, class: f.ink }, labels,
			name.length <= fit ? name : name.slice(0, fit - 1) + "\u2026");
		if (withValue)
			make("text", { x: f.left + f.width - 5, y: f.y + base, class: "value " + f.ink },
				labels, value);
	}

	function draw() {
		place();
		labels.textContent = "";
		for (const f of frames) {
			const rect = rects[f.i];
			if (!f.shown) {
				rect.style.display = "none";
				continue;
			}
			rect.style.display = "";
			rect.setAttribute("x", f.left);
			rect.setAttribute("y", f.y);
			rect.setAttribute("width", Math.max(f.width - (f.width > 3 ? 1 : 0), .2));
			rect.classList.toggle("above", f.above);
			rect.classList.toggle("hit", hits.has(f.i));
			labelOne(f);
		}
		drawOutline();
	}

	function drawOutline() {
		const f = selected;
		outline.style.visibility = f && f.shown ? "visible" : "hidden";
		if (!f || !f.shown)
			return;
		outline.setAttribute("x", f.left);
		outline.setAttribute("y", f.y);
		outline.setAttribute("width", Math.max(f.width - 1, 1));
	}

	function fit() {
		width = data.layout.is_fixed ? data.layout.width : Math.max(data.layout.width_min,
			(isPage ? window.innerWidth : svg.parentNode.clientWidth) || data.layout.width);
		svg.setAttribute("width", width);
		svg.setAttribute("viewBox", `0 0 ${width} ${data.layout.height}`);
		byId("right").setAttribute("transform", `translate(${width - margin} 0)`);
		draw();
	}

	const scrolled = () => isPage ? window.scrollY : 0;
	const keepHead = () => byId("head").setAttribute("transform", `translate(0 ${scrolled()})`);

	/* --- the card ------------------------------------------------------------------ */
	const CARD = 430, PAD = 12;

	function lines(text, per, most) {
		const out = [];
		while (text.length > per && out.length < most - 1) {
			let cut = text.lastIndexOf(" ", per);
			if (cut < per / 2)
				cut = per;
			out.push(text.slice(0, cut));
			text = text.slice(cut).trimStart();
		}
		out.push(text.length > per ? text.slice(0, per - 1) + "\u2026" : text);
		return out;
	}

	/* Every metric that this part of the tape has, whichever is drawn. */
	function sumsOf(f) {
		const names = data.is_moment ? ["alive then", "", "allocated until then", "of them temporary"] :
			["alive at the peak", "leaked", "allocated", "of them temporary"];
		/* A span of time may have what was allocated alone. */
		const hasAll = f.sums && frames[0].sums.some((sum, at) => sum && at >> 1 !== 2);
		/* Where another metric takes its place, temporary allocations are not known. */
		const rows = names.slice(0, f.sums && f.sums.length / 2).map((what, i) => [hasAll || i === 2 ? what : "",
			f.sums && `${bytesText(f.sums[2 * i])} \u00b7 ${countText(f.sums[2 * i + 1])}`]);
		return f.sums ? [["all of it", "bytes \u00b7 allocations", "soft"], ...rows] : [];
	}

	function card(f) {
		const body = tip.lastElementChild;
		const parent = f.parent < 0 ? null : frames[f.parent];
		let y = PAD + 10;

		body.textContent = "";
		for (const line of lines((data.name_type ? data.name_type + " " : "") + f.fn, 54, 5)) {
			make("text", { x: PAD, y, class: "name mono" }, body, line);
			y += 17;
		}
		const place = f.file ? f.file + (f.line ? ":" + f.line : "") : "";
		for (const line of [...(place ? lines(place, 58, 2) : []), f.module].filter(t => t)) {
			make("text", { x: PAD, y, class: "soft mono", "font-size": 11 }, body, line);
			y += 16;
		}
		y += 6;
		const facts = data.is_diff ? [
			[data.metric + ", before", valueText(f.before)],
			["after", valueText(f.after)],
			["change", `${changeOf(f) > 0 ? "\u25b2 " : changeOf(f) < 0 ? "\u25bc " : ""}${changeText(f)} \u00b7 ${relativeText(f)}`],
			["allocations after", f.calls ? countText(f.calls) : ""]] : [
			[data.metric, `${valueText(f.value)} \u00b7 ${share(f.value, frames[0].value)}`],
			["of the frame it is in", parent ? share(f.value, parent.value) : ""],
			[data.is_inverted ? "stacks that end here" : "in it alone",
				f.self ? valueText(f.self) : ""],
			[data.is_time ? "calls" : data.is_retained ? "blocks that hold it" : data.is_stale ? "blocks not used at all" : data.is_kernel && data.is_bytes ? "calls" : "", countText(f.calls)],
			[data.is_time ? "mean" : data.is_retained || data.is_stale || (data.is_kernel && !data.is_bytes) ? "" : "mean size", f.calls ?
				(data.is_time ? timeText : bytesText)(Math.round(f.bytes / f.calls)) : ""],
			...sumsOf(f)];
		for (const [what, value, kind] of facts.filter(fact => fact[0] && fact[1])) {
			make("text", { x: PAD, y, class: kind || "" }, body, what);
			make("text", { x: CARD - PAD, y, class: "right " + (kind || "") }, body, value);
			y += 18;
		}
		tip.firstElementChild.setAttribute("height", y);
		return y;
	}

	function showTip(f, x, y) {
		const height = card(f);
		const left = x + 16 + CARD > width ? Math.max(4, x - CARD - 12) : x + 16;
		const floor = Math.min(isPage ? window.innerHeight + scrolled() : Infinity, data.layout.height);
		const up = y + 16 + height > floor ? Math.max(scrolled() + 4, y - height - 10) : y + 16;
		tip.setAttribute("transform", `translate(${left} ${up})`);
		tip.style.visibility = "visible";
	}

	const hideTip = () => { tip.style.visibility = "hidden"; };
	const point = event => {
		const p = new DOMPoint(event.clientX, event.clientY);
		return p.matrixTransform(svg.getScreenCTM().inverse());
	};
	const index = new Map(rects.map((rect, i) => [rect, frames[i]]));

	/* --- links --------------------------------------------------------------------- */
	/* A frame is the functions on the way to it, each by a number: another picture may have it, too. */
	const keyOf = f => {
		let hash = 2166136261;
		for (const letter of f.fn)
			hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
		return hash.toString(36);
	};

	function pathOf(f) {
		const path = [];
		for (; f.parent >= 0; f = frames[f.parent])
			path.unshift(keyOf(f));
		return path.join(".");
	}

	function frameAt(path) {
		let f = frames[0];
		for (const key of path ? path.split(".") : []) {
			const next = f.children.find(child => keyOf(child) === key);
			if (!next)
				break;
			f = next;
		}
		return f;
	}

	/* peak.svg#search=REGEX&zoom=PATH */
	function keepLink() {
		const parts = [];
		if (box && box.value)
			parts.push("search=" + encodeURIComponent(box.value));
		if (zoomed.i)
			parts.push("zoom=" + pathOf(zoomed));
		window.history.replaceState(null, "", parts.length ? "#" + parts.join("&") :
			window.location.pathname + window.location.search);
	}

	/* --- zoom ---------------------------------------------------------------------- */
	function zoom(f) {
		zoomed = f;
		selected = f;
		byId("reset").style.visibility = f.i ? "visible" : "hidden";
		hideTip();
		draw();
		keepLink();
	}

	/* --- search -------------------------------------------------------------------- */
	const result = byId("result");
	let box = null;

	function search(text) {
		let expression = null;
		hits = new Set();
		box.classList.remove("bad");
		try {
			/* Capitals count when there are some. */
			expression = text ? new RegExp(text, /[A-Z]/.test(text) ? "" : "i") : null;
		} catch (error) {
			box.classList.add("bad");
		}
		let matched = 0;
		const inHit = new Set(); /* what lies in a hit is not counted twice */
		for (const f of frames.slice(1)) {
			const hit = expression &&
				(expression.test(f.fn) || expression.test(f.module) || expression.test(f.file));
			if (hit)
				hits.add(f.i);
			if (hit && !inHit.has(f.parent))
				matched += f.value;
			if (hit || inHit.has(f.parent))
				inHit.add(f.i);
		}
		result.textContent = expression ? countText(hits.size) + (hits.size === 1 ? " frame" : " frames") + " \u00b7 " +
			valueText(matched) + " \u00b7 " + share(matched, frames[0].value) : "";
		for (const f of frames)
			rects[f.i].classList.toggle("dim", expression !== null && !hits.has(f.i));
		draw();
	}

	function nextHit(step) {
		const list = frames.filter(f => hits.has(f.i) && f.shown);
		if (!list.length)
			return;
		const at = list.indexOf(selected);
		select(list[(at + step + list.length) % list.length]);
	}

	function select(f) {
		if (!f)
			return;
		selected = f;
		drawOutline();
		showTip(f, f.left + Math.min(f.width / 2, 60), f.y + row - 14);
		rects[f.i].scrollIntoView({ block: "nearest" });
	}

	/* --- wiring -------------------------------------------------------------------- */
	function move(key) {
		const f = selected || zoomed;
		const inward = icicle ? "ArrowDown" : "ArrowUp";
		const siblings = f.parent < 0 ? [f] : frames[f.parent].children;
		const at = siblings.indexOf(f);
		if (key === inward)
			select(f.children.find(c => c.shown));
		else if (key === "ArrowLeft" || key === "ArrowRight")
			select(siblings.slice()[at + (key === "ArrowRight" ? 1 : -1)]);
		else
			select(frames[f.parent]);
	}

	const keys = {
		Enter: () => zoom(selected || zoomed),
		Escape: () => { selected = null; search(box.value = ""); zoom(frames[0]); },
		Backspace: () => zoom(frames[Math.max(zoomed.parent, 0)]),
		"0": () => zoom(frames[0]),
		"/": () => box.focus(),
		n: () => nextHit(1),
		N: () => nextHit(-1),
		i: () => { icicle = !icicle; draw(); }
	};

	function onKey(event) {
		if (document.activeElement === box) {
			if (event.key === "Escape") {
				search(box.value = "");
				keepLink();
			}
			if (event.key === "Escape" || event.key === "Enter")
				box.blur();
			return;
		}
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key.startsWith("Arrow"))
			move(event.key);
		else if (keys[event.key])
			keys[event.key]();
		else
			return;
		event.preventDefault();
	}

	function buildSearch() {
		const holder = make("foreignObject", { x: -220, y: 14, width: 220, height: 30 },
			byId("right"));
		box = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
		box.id = "search";
		box.setAttribute("placeholder", "search (regex)   /");
		box.setAttribute("spellcheck", "false");
		box.setAttribute("aria-label", "search frames");
		holder.appendChild(box);
		box.addEventListener("input", () => {
			search(box.value);
			keepLink();
		});
	}

	buildSearch();
	byId("frames").addEventListener("mousemove", event => {
		const f = index.get(event.target);
		const p = point(event);
		if (!f)
			return hideTip();
		selected = f;
		drawOutline();
		showTip(f, p.x, p.y);
	});
	byId("frames").addEventListener("mouseleave", hideTip);
	byId("frames").addEventListener("click", event => {
		const f = index.get(event.target);
		if (f)
			zoom(f);
	});
	byId("reset").addEventListener("click", () => zoom(frames[0]));
	(isPage ? document : svg).addEventListener("keydown", onKey);
	window.addEventListener("resize", fit);
	window.addEventListener("scroll", keepHead);
	fit();
	if (isPage && !icicle)
		window.scrollTo(0, data.layout.height); /* to the root */
	keepHead();
	const asked = new URLSearchParams(window.location.hash.slice(1).replace(/\+/g, "%2B"));
	if (asked.get("search"))
		search(box.value = asked.get("search"));
	if (asked.get("zoom"))
		zoom(frameAt(asked.get("zoom")));
})();
