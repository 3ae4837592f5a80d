// Builds the web app: node build.mjs --out DIR [--list FILE] [--depfile FILE --target NAME] [--dev] [--watch].
//
// DIR gets index.html and assets/NAME-HASH.*; FILE gets their names, one a line, sorted: what the
// server embeds. The output depends on the sources and on esbuild's version only.
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const web = dirname(fileURLToPath(import.meta.url));
const args = process.argv.slice(2);
const option = (name) => { const i = args.indexOf(name); return i < 0 ? undefined : args[i + 1]; };
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
			const contents = files.map((file, i) => `import { page as p${i} } from "./${file}";\n`).join("") +
				`export const pages = [${names.join(", ")}];\n`;
			return { contents, resolveDir: dir, watchDirs: [dir] };
		});
	},
};

const options = {
	absWorkingDir: web,
	entryPoints: { app: "src/main.tsx", boot: "src/boot.ts", icon: "src/icon.svg" },
	outdir: out,
	bundle: true,
	minify: !args.includes("--dev"),
	sourcemap: args.includes("--dev") ? "inline" : false,
	format: "esm",
	target: "es2020",
	jsx: "automatic",
	jsxImportSource: "preact",
	charset: "utf8",
	legalComments: "none",
	entryNames: "assets/[name]-[hash]",
	assetNames: "assets/[name]-[hash]",
	loader: { ".woff2": "file", ".svg": "copy" },
	publicPath: "/",
	metafile: true,
	logLevel: "warning",
	plugins: [pagesPlugin, { name: "page", setup: (build) => build.onEnd(finish) }],
};

// boot runs as a classic script before the first paint; it is too small to need a module.
async function finish(result) {
	if (result.errors.length)
		return;
	const files = Object.keys(result.metafile.outputs).map((path) => relative(out, join(web, path)).split(sep).join("/"));
	const find = (start, end) => "/" + files.find((f) => basename(f).startsWith(start) && f.endsWith(end));
	const values = {
		"@ICON@": find("icon-", ".svg"), "@BOOT@": find("boot-", ".js"), "@MAIN@": find("app-", ".js"),
		"@STYLE@": find("app-", ".css"), "@FONT@": find("inter-latin", ".woff2"),
	};
	let html = await readFile(join(web, "index.html"), "utf8");
	for (const [key, value] of Object.entries(values))
		html = html.replace(key, value);
	await writeFile(join(out, "index.html"), html);
	const shipped = [...files.filter((f) => !/icon-.*\.js$/.test(f)), "index.html"].sort();
	await removeOthers(shipped);
	if (option("--list"))
		await writeFile(option("--list"), shipped.join("\n") + "\n");
	if (option("--depfile"))
		await writeFile(option("--depfile"), dependencies(result.metafile));
}

// For ninja: what the output was made from, and the folder in which a new page would appear.
function dependencies(metafile) {
	const inputs = Object.keys(metafile.inputs).filter((path) => !path.startsWith("pages:"));
	const paths = [...inputs, "src/pages"].map((path) => join(web, path).replace(/[ $]/g, "\\$&"));
	return `${option("--target")}: ${paths.join(" ")}\n`;
}

async function removeOthers(shipped) {
	for (const name of await readdir(join(out, "assets")))
		if (!shipped.includes("assets/" + name))
			await rm(join(out, "assets", name));
}

await mkdir(join(out, "assets"), { recursive: true });
if (args.includes("--watch")) {
	const context = await esbuild.context(options);
	await context.watch();
	console.log(`watching; the app is in ${out}`);
} else {
	const { metafile } = await esbuild.build(options);
	if (args.includes("--sizes"))
		console.log(await esbuild.analyzeMetafile(metafile));
}
