// Builds the web app: node build.mjs --out DIR [--list FILE] [--depfile FILE --target NAME] [--dev] [--watch].
//
// DIR gets index.html and assets/NAME-HASH.*, and report/app-HASH.js: the app in one piece, for reports. FILE gets
// their names, one a line, sorted: what the server embeds. The output depends on the sources and on esbuild's version only.
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const web = dirname(fileURLToPath(import.meta.url));
const args = process.argv.slice(2);
const option = (name) => {
	const i = args.indexOf(name);
	return i < 0 ? undefined : args[i + 1];
};
const out = option("--out");
if (!out) {
	console.error("usage: node build.mjs --out DIR [--list FILE] [--depfile FILE --target NAME] [--dev] [--watch]");
	process.exit(2);
}

// To add a page is to add a file: src/pages/NAME.tsx that exports `page`.
export const pagesPlugin = {
	name: "pages",
	setup(build) {
		build.onResolve({ filter: /^virtual:pages$/ }, () => ({ path: "pages", namespace: "pages" }));
		build.onLoad({ filter: /.*/, namespace: "pages" }, async () => {
			const dir = join(web, "src/pages");
			const files = (await readdir(dir)).filter((name) => name.endsWith(".tsx")).sort();
			const names = files.map((_, i) => `p${i}`);
			const contents =
				files.map((file, i) => `import { page as p${i} } from "./${file}";\n`).join("") +
				`export const pages = [${names.join(", ")}];\n`;
			return { contents, resolveDir: dir, watchDirs: [dir] };
		});
	},
};

const dev = args.includes("--dev");
const options = {
	absWorkingDir: web,
	outdir: out,
	bundle: true,
	minify: !dev,
	sourcemap: dev ? "inline" : false,
	format: "esm",
	target: "es2020",
	jsx: "automatic",
	jsxImportSource: "preact",
	charset: "utf8",
	legalComments: "none",
	chunkNames: "assets/[name]-[hash]",
	assetNames: "assets/[name]-[hash]",
	loader: { ".woff2": "file", ".svg": "copy" },
	publicPath: "/",
	metafile: true,
	write: false,
	logLevel: "warning",
	plugins: [pagesPlugin],
};
// What the first page needs is in app and what app imports; rare pages and Prism come when they are wanted (src/later.tsx).
const served = {
	...options,
	entryPoints: { app: "src/main.tsx", boot: "src/boot.ts", icon: "src/icon.svg" },
	entryNames: "assets/[name]-[hash]",
	splitting: true,
	define: { REPORT: "false" },
	loader: { ...options.loader, ".css": "empty" }, // the report's has all, later pages' too
};
const report = {
	...options,
	entryPoints: { app: "src/main.tsx" },
	entryNames: "report/[name]-[hash]",
	define: { REPORT: "true" },
};

// Both builds' files by their names below DIR. The app takes styles and fonts from the report.
function filesOf(results) {
	const files = new Map();
	for (const { outputFiles } of results)
		for (const file of outputFiles) {
			const name = relative(out, file.path)
				.split(sep)
				.join("/")
				.replace(/^report(\/.*\.css)$/, "assets$1");
			if (!/icon-.*\.js$/.test(name)) files.set(name, file.contents);
		}
	return files;
}

// boot runs as a classic script before the first paint; it is too small to need a module.
async function finish([app, inReport]) {
	const files = filesOf([app, inReport]);
	const find = (start, end) =>
		"/" + [...files.keys()].find((f) => f.startsWith("assets/" + start) && f.endsWith(end));
	const main = find("app-", ".js"),
		outputs = Object.entries(app.metafile.outputs);
	const { imports } = outputs.find(([path]) => path.endsWith(main))[1];
	const values = {
		"@ICON@": find("icon-", ".svg"),
		"@BOOT@": find("boot-", ".js"),
		"@MAIN@": main,
		"@STYLE@": find("app-", ".css"),
		"@FONT@": find("inter-latin", ".woff2"),
		"@PRELOAD@": imports
			.filter((i) => i.kind === "import-statement")
			.map((i) => `<link rel="modulepreload" href="/assets/${basename(i.path)}">`)
			.join("\n"),
	};
	let html = await readFile(join(web, "index.html"), "utf8");
	for (const [key, value] of Object.entries(values)) html = html.replace(key, value);
	files.set("index.html", html);
	for (const [name, contents] of files) await writeFile(join(out, name), contents);
	await removeOthers(files);
	if (option("--list")) await writeFile(option("--list"), [...files.keys()].sort().join("\n") + "\n");
	if (option("--depfile")) await writeFile(option("--depfile"), dependencies(app.metafile));
}

// For ninja: what the output was made from, and the folder in which a new page would appear.
function dependencies(metafile) {
	const inputs = Object.keys(metafile.inputs).filter((path) => !path.startsWith("pages:"));
	const paths = [...inputs, "src/pages"].map((path) => join(web, path).replace(/[ $]/g, "\\$&"));
	return `${option("--target")}: ${paths.join(" ")}\n`;
}

async function removeOthers(files) {
	for (const dir of ["assets", "report"])
		for (const name of await readdir(join(out, dir)))
			if (!files.has(`${dir}/${name}`)) await rm(join(out, dir, name));
}

for (const dir of ["assets", "report"]) await mkdir(join(out, dir), { recursive: true });
const inReport = esbuild.build(report);
if (args.includes("--watch")) {
	const onEnd = async (result) => {
		if (!result.errors.length) await finish([result, await inReport]);
	};
	const context = await esbuild.context({
		...served,
		plugins: [pagesPlugin, { name: "page", setup: (build) => build.onEnd(onEnd) }],
	});
	await context.watch();
	console.log(`watching; the app is in ${out}`);
} else {
	const app = await esbuild.build(served);
	await finish([app, await inReport]);
	if (args.includes("--sizes")) console.log(await esbuild.analyzeMetafile(app.metafile));
}
