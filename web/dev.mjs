// For those who work on the app: node dev.mjs MEMTAPE OUT [TAPE...]. Builds on every change and, with tapes, serves the app from
// OUT and passes /api on to `memtape serve`. Reload the page to see a change. Nothing of this is shipped.
import { spawn } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import { createServer, request } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const [memtape, out, ...tapes] = process.argv.slice(2);
const web = dirname(fileURLToPath(import.meta.url));
const TYPES = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript",
	".css": "text/css",
	".svg": "image/svg+xml",
	".woff2": "font/woff2",
};
// The server's own policy (src/show/http), so that what breaks it breaks here.
const POLICY =
	"default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const build = spawn(process.execPath, [join(web, "build.mjs"), "--out", out, "--dev", "--watch"], {
	stdio: ["pipe", "inherit", "inherit"],
});

function sendFile(path, response) {
	const file = join(out, normalize(path === "/" ? "/index.html" : path));
	if (!file.startsWith(out) || !existsSync(file)) {
		response.writeHead(404).end("not here\n");
		return;
	}
	response.writeHead(200, {
		"Content-Type": TYPES[extname(file)] ?? "text/plain",
		"Content-Security-Policy": POLICY,
		"Cache-Control": "no-store",
	});
	createReadStream(file).pipe(response);
}

function passOn(incoming, response, backend) {
	const headers = { ...incoming.headers, host: backend.host };
	delete headers.origin; // the server knows its own address only
	const outgoing = request(
		{ host: backend.hostname, port: backend.port, path: incoming.url, method: incoming.method, headers },
		(answer) => {
			response.writeHead(answer.statusCode, answer.headers);
			answer.pipe(response);
		},
	);
	outgoing.on("error", () => response.destroy());
	incoming.pipe(outgoing);
}

if (tapes.length) {
	const serve = spawn(memtape, ["serve", "--json", ...tapes], { stdio: ["ignore", "pipe", "inherit"] });
	serve.on("exit", (code) => {
		build.kill();
		process.exit(code ?? 1);
	});
	createInterface({ input: serve.stdout }).once("line", (line) => {
		const backend = new URL(JSON.parse(line).url);
		const server = createServer((incoming, response) => {
			if (/^\/(api|list|data)\b/.test(incoming.url)) passOn(incoming, response, backend);
			else sendFile(new URL(incoming.url, backend).pathname, response);
		});
		server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/${backend.hash}`));
	});
}
