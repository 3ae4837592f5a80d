/* Saving what is selected in formats of other tools. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { API, ApiError, download } from "../api/client";
import type { Params } from "../api/client";
import { atParams, commonParams, metric, metricParams, tapeId } from "../store";
import { Popover } from "../ui/basics";
import { IconExport } from "../ui/icons";
import { toast } from "../ui/toast";
import { measureOf, vocabulary } from "../vocabulary";
import type { ExportFormat } from "../api/types";
import type { Measure } from "../vocabulary";

const KINDS: readonly (readonly [ExportFormat["kind"], string])[] = [
	["sums", "Sums of the selection"],
	["course", "Memory over time"],
	["events", "Single allocations and frees"],
	["everything", "Everything"],
];

interface Request {
	path: string;
	params: Params;
}

/* null: the format has no file of this measure. */
export function requestOf(format: ExportFormat, measure: Measure): Request | null {
	if (format.kind === "everything") return { path: format.path!.replace(API, ""), params: { c: tapeId.value } };
	if (format.path) return { path: format.path.replace(API, ""), params: metricParams() };
	const params = { ...commonParams(), to: format.name };
	if (measure.at && format.kind === "sums") return { path: "export", params: { ...params, ...atParams() } };
	if (measure.in_reports || (measure.scan && format.has_metric))
		return { path: "export", params: { ...params, m: measure.word } };
	return format.has_metric ? null : { path: "export", params };
}

function Item(props: { format: ExportFormat; close: () => void }): JSX.Element {
	const [busy, setBusy] = useState(false);
	const { format } = props,
		measure = measureOf(metric.value),
		request = requestOf(format, measure);
	const save = async ({ path, params }: Request) => {
		setBusy(true);
		try {
			await download(path, params);
			props.close();
		} catch (error) {
			toast(error instanceof ApiError ? error.body.message : "The server did not answer", true);
			setBusy(false);
		}
	};
	return (
		<button
			type="button"
			class="menu-item"
			disabled={busy || !request}
			title={request ? undefined : `not for the measure \u201c${measure.title}\u201d`}
			onClick={() => request && void save(request)}
		>
			<b>{format.name}</b>
			<span class="hint">{busy ? "writing \u2026" : format.summary}</span>
		</button>
	);
}

export function ExportMenu(): JSX.Element {
	return (
		<Popover
			label="Export"
			end
			panelClass="export-menu"
			button={
				<>
					<IconExport />
					<span class="wide-only export-word">Export</span>
				</>
			}
		>
			{(close) =>
				KINDS.map(([kind, title]) => (
					<div key={kind} role="group" aria-label={title}>
						<p class="menu-title">{title}</p>
						{vocabulary.value?.exports
							.filter((f) => f.kind === kind)
							.map((f) => (
								<Item key={f.name} format={f} close={close} />
							))}
					</div>
				))
			}
		</Popover>
	);
}
