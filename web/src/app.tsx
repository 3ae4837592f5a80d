/* The frame around the pages: rail, top bar, and the page itself. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { METRIC } from "./metrics";
import { pageFind, pages } from "./pages/registry";
import { at, metric, page, selection, tape, update } from "./store";
import { Rail } from "./frame/rail";
import { TopBar } from "./frame/topbar";
import { useKeys } from "./keys";

function titleOf(): string {
	const shown = pageFind(page.value);
	const parts = [shown?.title ?? "Not found"];
	if (shown?.hasMetric)
		parts.push(METRIC[metric.value].title.toLowerCase());
	if (tape.value)
		parts.push(tape.value.name);
	return [...parts, "memtape"].join(" \u2013 ");
}

function Missing(): JSX.Element {
	return (
		<div class="state">
			<h1>There is no page “{page.value}”</h1>
			<a class="button" href="#/overview">Overview</a>
		</div>
	);
}

export function App(): JSX.Element {
	const shown = pageFind(page.value);
	const title = titleOf();
	useEffect(() => { document.title = title; }, [title]);
	useKeys(Object.fromEntries(pages.map((p) => [`g ${p.key}`, () => update({ page: p.id })])));
	void selection.value, void at.value;
	return (
		<div class="app">
			<a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
			<Rail />
			<TopBar />
			<main id="main" tabIndex={-1}>
				{shown ? <><h1 class="sr">{shown.title}</h1><shown.component key={shown.id} /></> : <Missing />}
			</main>
		</div>
	);
}
