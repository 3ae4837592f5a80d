/* Whether what stands beside each other in a line has room there. */
import { useLayoutEffect, useState } from "preact/hooks";

/*
 * How much a line has to leave out, from nothing (0) to `most`: one step more as long as it is wider than its place. Begins again
 * when its place gets another width, or `of` (what stands in it) is something else. The line must not wrap, nor its parts shrink.
 */
export function useFit(line: { current: HTMLElement | null }, most: number, of: string): number {
	const [left, setLeft] = useState(0),
		[, again] = useState(0);
	useLayoutEffect(() => {
		/* What the first measure below sees: what comes beside the line before the observer's first word counts as a change. */
		let width = line.current!.clientWidth;
		const seen = new ResizeObserver(() => {
			const now = line.current?.clientWidth ?? 0;
			if (now !== width) {
				setLeft(0);
				again((n) => n + 1); /* measures where nothing was left out before, too */
			}
			width = now;
		});
		seen.observe(line.current!);
		return () => seen.disconnect();
	}, []);
	useLayoutEffect(() => setLeft(0), [of]);
	useLayoutEffect(() => {
		const el = line.current!;
		if (left < most && el.scrollWidth > el.clientWidth + 1) setLeft(left + 1);
	});
	return left;
}

/* A copy of lines that have left something out, for measuring: as they are where there is room for all. */
export function unfit(copy: HTMLElement): void {
	for (const line of copy.querySelectorAll<HTMLElement>("[data-whole]")) {
		line.classList.add("whole");
		line.querySelector(".code")!.textContent = line.dataset.whole!;
		if (!line.dataset.place || line.querySelector(".site-where")) continue;
		const place = document.createElement("span");
		place.className = "muted site-where";
		place.textContent = line.dataset.place;
		line.append(place);
	}
}
