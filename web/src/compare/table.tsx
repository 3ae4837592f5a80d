/* The same differences as a table. */
import type { JSX } from "preact";
import { Th } from "../table/th";
import type { Sides } from "./sides";
import type { Diff } from "../api/types";
import { titleOf } from "./lists";
import * as format from "../format";
import { Value } from "../ui/cells";
import * as words from "./words";

export function DiffTable(props: { diff: Diff; sides: Sides }): JSX.Element {
	const { diff } = props;
	const rows = diff.rows.filter((row) => row.difference !== 0);
	const all = diff.counts.new + diff.counts.gone + diff.counts.grown + diff.counts.shrunk;
	return (
		<div class="table-scroll" tabIndex={0} role="region" aria-label="Differences as a table">
			<table class="table">
				<thead>
					<tr>
						<Th table="Differences" title={diff.by === "module" ? "Module" : "Function"} first />
						<Th table="Differences" title="Difference" num />
						<Th table="Differences" title="Before" num />
						<Th table="Differences" title="After" num />
						<Th table="Differences" title="Change" num />
						<Th table="Differences" title="Blocks before" num />
						<Th table="Differences" title="after" num />
						<Th table="Differences" title="Place" />
					</tr>
				</thead>
				<tbody>
					{rows.map((row, i) => (
						<tr key={`${row.hash}${row.module}${i}`}>
							<th scope="row" class="code" title={row.function ?? ""}>
								{titleOf(row)}
							</th>
							<td class="num">
								<b
									class={words.tone(row.difference)}
									title={words.exactChange(row.difference, diff.unit)}
								>
									{words.arrow(row.difference)} {words.change(row.difference, diff.unit)}
								</b>
							</td>
							<td class="num">
								<Value value={row.a} unit={diff.unit} />
							</td>
							<td class="num">
								<Value value={row.b} unit={diff.unit} />
							</td>
							<td class="num">{words.share(row.a, row.b)}</td>
							<td class="num">{format.exact(row.a_count)}</td>
							<td class="num">{format.exact(row.b_count)}</td>
							<td class="muted">{format.place(row.file, row.line) || row.module}</td>
						</tr>
					))}
				</tbody>
			</table>
			{all > rows.length && (
				<p class="report-words">
					{format.exact(rows.length)} of {format.exact(all)} that differ.
				</p>
			)}
		</div>
	);
}
