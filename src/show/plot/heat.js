/*
 * The life of a heat map: a line about the cell under the pointer, and keys to go from cell to
 * cell. The drawing is complete without this script. Texts only ever become text nodes.
 */
(() => {
	"use strict";
	const byId = id => document.getElementById(id);
	const svg = document.documentElement;
	const status = byId("status"), chosen = byId("chosen");
	const idle = status.textContent;
	const number = (cell, name) => Number(cell.getAttribute(name));
	const cells = Array.from(byId("cells").children).map(rect => ({
		rect, x: number(rect, "x"), y: number(rect, "y"),
		text: rect.firstElementChild.textContent }));
	const byRect = new Map(cells.map(cell => [cell.rect, cell]));
	let at = null;

	function choose(cell) {
		at = cell;
		chosen.style.visibility = cell ? "visible" : "hidden";
		status.textContent = cell ? cell.text : idle;
		if (!cell)
			return;
		for (const name of ["x", "y", "width", "height"])
			chosen.setAttribute(name, cell.rect.getAttribute(name));
	}

	/* The nearest cell in a direction; what is aside counts more than what is ahead. */
	function next(dx, dy) {
		let best = null, least = Infinity;
		for (const cell of cells) {
			const x = cell.x - at.x, y = cell.y - at.y;
			const ahead = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
			if (ahead > 0 && ahead + aside * 4 < least) {
				least = ahead + aside * 4;
				best = cell;
			}
		}
		return best || at;
	}

	const hottest = () => cells.reduce((a, b) =>
		number(b.rect, "data-count") > number(a.rect, "data-count") ? b : a);
	const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

	svg.addEventListener("pointerover", event => {
		const cell = byRect.get(event.target);
		status.textContent = cell ? cell.text : at ? at.text : idle;
	});
	svg.addEventListener("click", event => choose(byRect.get(event.target) || null));
	document.addEventListener("keydown", event => {
		if (event.ctrlKey || event.altKey || event.metaKey || !cells.length)
			return;
		if (event.key === "Escape")
			choose(null);
		else if (event.key === "Home")
			choose(cells[0]);
		else if (event.key === "End")
			choose(cells[cells.length - 1]);
		else if (event.key === "m" || (steps[event.key] && !at))
			choose(hottest());
		else if (steps[event.key])
			choose(next(...steps[event.key]));
		else
			return;
		event.preventDefault();
	});
})();
