/* Prism's tokens without its way to write them: they become elements here. Loaded when the page is. */
import "./manual";
import Prism from "prismjs/components/prism-core";
import "prismjs/components/prism-clike";
import "prismjs/components/prism-c";
import "prismjs/components/prism-cpp";
import "prismjs/components/prism-rust";
import "prismjs/components/prism-go";
import "prismjs/components/prism-python";
import "prismjs/components/prism-javascript";

export interface Piece {
	kind: string;
	text: string;
}

const LANGUAGES: Readonly<Record<string, string>> = {
	c: "c",
	h: "cpp",
	cc: "cpp",
	cpp: "cpp",
	cxx: "cpp",
	hh: "cpp",
	hpp: "cpp",
	hxx: "cpp",
	tcc: "cpp",
	ipp: "cpp",
	inc: "cpp",
	def: "c",
	y: "c",
	l: "c",
	m: "c",
	cu: "cpp",
	cuh: "cpp",
	rs: "rust",
	go: "go",
	py: "python",
	pyx: "python",
	js: "javascript",
	mjs: "javascript",
	ts: "javascript",
	java: "clike",
	kt: "clike",
	swift: "clike",
	d: "clike",
	zig: "clike",
	vala: "clike",
};

function languageOf(file: string): string {
	const end = /\.([A-Za-z0-9]+)$/.exec(file)?.[1];
	return (end && LANGUAGES[end]) || (file.includes("/c++/") ? "cpp" : "");
}

interface Token {
	type: string;
	content: string | Token | (string | Token)[];
}

/* The lines of a text, each in pieces. A token may go over several lines: a comment. */
export function linesOf(text: readonly string[], file: string): Piece[][] {
	const grammar = Prism.languages[languageOf(file)];
	if (!grammar) return text.map((line) => [{ kind: "", text: line }]);
	const lines: Piece[][] = [[]];
	const add = (kind: string, part: string) =>
		part.split("\n").forEach((piece, i) => {
			if (i > 0) lines.push([]);
			if (piece) lines[lines.length - 1]!.push({ kind, text: piece });
		});
	const walk = (tokens: (string | Token)[], kind: string) => {
		for (const t of tokens)
			if (typeof t === "string") add(kind, t);
			else if (typeof t.content === "string") add(t.type, t.content);
			else walk(Array.isArray(t.content) ? t.content : [t.content], t.type);
	};
	walk(Prism.tokenize(text.join("\n"), grammar) as (string | Token)[], "");
	return lines;
}
