/* The dialog "My code", and what it is asked about: a function, and whose it is said to be. */
import { signal } from "@preact/signals";

export type Whose = "mine" | "library" | "allocator";

export interface WhoseAsked {
	role: Whose;
	pattern: string;
	also: readonly string[]; /* other patterns that it fits */
}

export const whoseAsked = signal<WhoseAsked | null>(null);

export function whoseOpen(asked: Partial<WhoseAsked> = {}): void {
	whoseAsked.value = { role: "mine", pattern: "", also: [], ...asked };
}

/* "void a::T<int, b>::f(int) const" -> "a::T<*>::f": what is compared has its return type and its parameters apart. */
export function patternOf(name: string): string {
	let out = "",
		depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i]!,
			isOperator = /\boperator\W?$/.test(out);
		if (c === "<" && !isOperator) {
			if (depth++ === 0) out += "<*>";
		} else if (c === ">" && !isOperator && depth > 0 && name[i - 1] !== "-") depth--;
		else if (depth > 0) continue;
		else if (name.startsWith("(anonymous namespace)", i)) {
			out += "(anonymous namespace)";
			i += "(anonymous namespace)".length - 1;
		} else if (c === "(" && !(isOperator && name[i + 1] === ")" && out.endsWith("operator"))) break;
		else if (c === " " && !/\boperator$/.test(out)) out = "";
		else out += /[,*[?]/.test(c) ? "?" : c;
	}
	return /\{[^}]*$/.test(out) ? `${out}*` : out;
}

/* "/home/me/app/src/net/x.cpp" -> "net/x.cpp" and "net/": a path matches from any folder on. */
function patternsOfFile(file: string | null): string[] {
	const parts = (file ?? "").split("/").filter(Boolean);
	if (parts.length === 0 || file!.startsWith("<")) return [];
	const folder = parts[parts.length - 2];
	return folder ? [`${folder}/${parts[parts.length - 1]}`, `${folder}/`] : [parts[0]!];
}

export function whoseOf(role: Whose, of: { name: string; file: string | null; module?: string | null }): void {
	const also = [
		...patternsOfFile(of.file),
		...(of.module ? [of.module.slice(of.module.lastIndexOf("/") + 1)] : []),
	].filter((p) => !/[,*[?]/.test(p));
	whoseOpen({ role, pattern: patternOf(of.name), also });
}
