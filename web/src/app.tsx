/* The frame around the pages: rail, top bar, and the page itself. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Ns } from "./api/types";
import { clock } from "./clock";
import { Banners, needsToken, TapeState, TokenForm } from "./frame/banner";
import { MyCodeDialog } from "./frame/mycode";
import { Help, helpOpen } from "./frame/help";
import { Asking } from "./frame/controls";
import { Palette, paletteOpen } from "./frame/palette";
import { Rail } from "./frame/rail";
import { copyLink, TopBar } from "./frame/topbar";
import { isTyping, jump, useKeys } from "./keys";
import { asking, canAttach, canMark, isLive, holding, holdSet } from "./live";
import { offered, pageFind } from "./pages/registry";
import { infoError, infoLoad } from "./session";
import { at, info, metric, page, range, tape, tapeId, undo, update } from "./store";
import { Menu } from "./ui/menu";
import { ErrorCard, Loading, misses } from "./ui/states";
import { Toast } from "./ui/toast";
import { measureOf } from "./vocabulary";

const STEPS = 200; /* [ and ] move the time point by this part of what is shown */

function titleOf(): string {
	const shown = pageFind(page.value);
	const parts = [shown?.title ?? "Not found"];
	if (shown?.hasMetric) parts.push(measureOf(metric.value).title);
	if (tape.value) parts.push(tape.value.name);
	return [...parts, "memtape"].join(" \u2013 ");
}

function pointStep(by: number): void | false {
	if (misses("times")) return false;
	const { duration, peak } = clock.value;
	const width = range.value ? range.value.until - range.value.from : duration;
	const now = at.value ?? peak ?? 0;
	update({ at: Math.round(Math.max(0, Math.min(duration, now + (by * width) / STEPS))), metric: "live" }, "replace");
}

const pointAt = (ns: Ns | null) => (ns === null || misses("times") ? false : update({ at: ns, metric: "live" }));

const POINT_KEYS = {
	p: () => pointAt(clock.value.peak),
	P: () => pointAt(clock.value.rssPeak),
	"[": () => pointStep(-1),
	"]": () => pointStep(1),
	"{": () => pointStep(-10),
	"}": () => pointStep(10),
};

function useGlobalKeys(): void {
	useKeys({
		...Object.fromEntries(offered().map((p) => [`g ${p.key}`, () => jump(() => update({ page: p.id }))])),
		"?": () => {
			helpOpen.value = true;
		},
		"Ctrl+k": () => {
			paletteOpen.value = true;
		},
		y: copyLink,
		Space: () =>
			isLive.value &&
			[document.body, document.getElementById("main")].includes(document.activeElement as HTMLElement)
				? holdSet(!holding.value)
				: false,
		k: () => (canMark.value ? void (asking.value = "mark") : false),
		u: undo,
		"Ctrl+z": (event: KeyboardEvent) => (isTyping(event.target) ? false : undo()),
		...(REPORT ? {} : POINT_KEYS),
	});
}

function Missing(props: { title: string; children: JSX.Element }): JSX.Element {
	return (
		<div class="state">
			<h1>{props.title}</h1>
			{props.children}
		</div>
	);
}

function Content(): JSX.Element {
	const shown = pageFind(page.value),
		t = tape.value;
	if (needsToken()) return <TokenForm />;
	if (infoError.value) return <ErrorCard error={infoError.value} retry={() => void infoLoad()} />;
	if (!info.value) return <Loading rows={6} height={40} />;
	if (shown?.needsNoTape && shown.isOffered?.() !== false) return <shown.component key={shown.id} />;
	if (!t && info.value.tapes.length === 0)
		return (
			<Missing title="No tapes are served">
				<p>
					Name them: <code>memtape serve TAPE</code>
				</p>
			</Missing>
		);
	if (!t)
		return (
			<Missing title="This tape is not served">
				<p>
					Its id is <code>{tapeId.value}</code>. <a href="#/overview">Show the tape that is served</a>
				</p>
			</Missing>
		);
	const unusual = TapeState({ tape: t });
	if (unusual) return unusual;
	if (!shown && REPORT)
		return (
			<Missing title="Not in this report">
				<p>
					Run <code>memtape serve {t.file}</code>
				</p>
			</Missing>
		);
	if (!shown || shown.isOffered?.() === false)
		return (
			<Missing title={`Page \u201c${page.value}\u201d not found`}>
				<a class="button" href="#/overview">
					Overview
				</a>
			</Missing>
		);
	return (
		<>
			<h1 class="sr">{shown.title}</h1>
			<shown.component key={shown.id + t.id} />
		</>
	);
}

export function App(): JSX.Element {
	const title = titleOf();
	useEffect(() => {
		document.title = title;
	}, [title]);
	useGlobalKeys();
	/* Where there is no tape yet one begins with a process. */
	const begins = info.value?.tapes.length === 0 && canAttach.value && !pageFind(page.value)?.needsNoTape;
	useEffect(() => {
		if (begins) update({ page: "processes" }, "replace");
	}, [begins]);
	/* What had the focus went with its page: keys go on at the new one. */
	const isFirst = useRef(true);
	useEffect(() => {
		if (document.activeElement === document.body) {
			if (isFirst.current) document.getElementById("main")?.focus();
			else jump(() => undefined);
		}
		isFirst.current = false;
	}, [page.value]);
	return (
		<div class="app">
			<a
				class="skip"
				href="#main"
				onClick={(e) => {
					e.preventDefault();
					document.getElementById("main")?.focus();
				}}
			>
				Skip to content
			</a>
			<Rail />
			<TopBar />
			<main id="main" tabIndex={-1}>
				{info.value && (
					<p class="page-name" aria-hidden="true">
						{pageFind(page.value)?.title}
					</p>
				)}
				<Banners />
				<Content />
			</main>
			<Help />
			<Palette />
			<Asking />
			<MyCodeDialog />
			<Menu />
			<Toast />
		</div>
	);
}
