// Bundles a test in TypeScript, with the app's own modules, for Node: bundle.mjs IN OUT.
import { fileURLToPath } from "node:url";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const web = join(dirname(fileURLToPath(import.meta.url)), "../../web");
const esbuild = createRequire(join(web, "package.json"))("esbuild");
const [entry, outfile] = process.argv.slice(2);
// What modules of the app look at when they are loaded.
const banner = `
globalThis.document ??= { documentElement: { dataset: {} }, getElementById: () => null };
globalThis.location ??= { hash: "", origin: "http://127.0.0.1" };
globalThis.sessionStorage ??= { getItem: () => null, setItem: () => undefined };
globalThis.localStorage ??= { getItem: () => null, setItem: () => undefined };
globalThis.history ??= { pushState: () => undefined, replaceState: () => undefined };
`;
await esbuild.build({
	entryPoints: [entry],
	outfile,
	bundle: true,
	platform: "node",
	format: "esm",
	target: "es2020",
	jsx: "automatic",
	jsxImportSource: "preact",
	nodePaths: [join(web, "node_modules")],
	banner: { js: banner },
	logLevel: "warning",
	loader: { ".css": "empty" },
	define: { REPORT: "false" },
	plugins: [
		{
			name: "no-pages",
			setup(build) {
				build.onResolve({ filter: /^virtual:pages$/ }, () => ({ path: "pages", namespace: "pages" }));
				build.onLoad({ filter: /.*/, namespace: "pages" }, () => ({ contents: "export const pages = [];" }));
			},
		},
	],
});
