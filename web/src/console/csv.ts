/* RFC 4180. */
export function csvOf(head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
	const cell = (v: string | number | null) => {
		const text = v === null ? "" : String(v);
		return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
	};
	return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
