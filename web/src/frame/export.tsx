/* Saving what is selected in formats of other tools. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, download } from "../api/client";
import type { Params } from "../api/client";
import { commonParams, metricParams } from "../store";
import { Popover } from "../ui/basics";
import { IconExport } from "../ui/icons";
import { toast } from "../ui/toast";

interface Format { title: string; hint: string; path: string; params: () => Params }

/* The formats of `memtape export --list`, and the picture. */
export const FORMATS: readonly Format[] = [
	{ title: "Flame graph", hint: "interactive SVG", path: "export/flamegraph.svg", params: metricParams },
	{ title: "Folded stacks", hint: "flamegraph.pl, speedscope", path: "export", params: () => ({ ...metricParams(), to: "folded" }) },
	{ title: "heaptrack", hint: "heaptrack_gui", path: "export", params: () => ({ ...commonParams(), to: "heaptrack" }) },
	{ title: "pprof", hint: "go tool pprof, Pyroscope", path: "export", params: () => ({ ...metricParams(), to: "pprof" }) },
	{ title: "speedscope", hint: "speedscope.app", path: "export", params: () => ({ ...metricParams(), to: "speedscope" }) },
	{ title: "Firefox Profiler", hint: "profiler.firefox.com", path: "export", params: () => ({ ...commonParams(), to: "firefox" }) },
	{ title: "Trace events", hint: "Perfetto", path: "export", params: () => ({ ...commonParams(), to: "trace-event" }) },
	{ title: "DHAT", hint: "dh_view.html", path: "export", params: () => ({ ...commonParams(), to: "dhat" }) },
	{ title: "massif", hint: "ms_print, massif-visualizer", path: "export", params: () => ({ ...commonParams(), to: "massif" }) },
	{ title: "callgrind", hint: "KCachegrind", path: "export", params: () => ({ ...commonParams(), to: "callgrind" }) },
	{ title: "DOT", hint: "graphviz", path: "export", params: () => ({ ...metricParams(), to: "dot" }) },
	{ title: "CSV", hint: "a row a call site", path: "export", params: () => ({ ...metricParams(), to: "csv" }) },
	{ title: "SQLite", hint: "a database", path: "export", params: () => ({ ...commonParams(), to: "sqlite" }) },
	{ title: "Replay", hint: "the calls alone", path: "export", params: () => ({ ...commonParams(), to: "replay" }) },
	{ title: "JSON", hint: "every allocation", path: "export", params: () => ({ ...commonParams(), to: "json" }) },
	{ title: "memusage", hint: "memusagestat", path: "export", params: () => ({ ...commonParams(), to: "memusage" }) },
];

function Item(props: { format: Format; close: () => void }): JSX.Element {
	const [busy, setBusy] = useState(false);
	const save = async () => {
		setBusy(true);
		try {
			await download(props.format.path, props.format.params());
			props.close();
		} catch (error) {
			toast(error instanceof ApiError ? error.body.message : "The server did not answer", true);
			setBusy(false);
		}
	};
	return (
		<button type="button" class="menu-item" disabled={busy} onClick={() => void save()}>
			{props.format.title}<span class="hint">{busy ? "writing \u2026" : props.format.hint}</span>
		</button>
	);
}

export function ExportMenu(): JSX.Element {
	return (
		<Popover label="Export" end panelClass="export-menu" button={<><IconExport /><span class="wide-only">Export</span></>}>
			{(close) => (
				<>
					<p class="menu-title">What is selected, as</p>
					{FORMATS.map((format) => <Item key={format.title} format={format} close={close} />)}
				</>
			)}
		</Popover>
	);
}
