// The Threads page: who allocates, who frees, and from a thread to its call sites.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, has, open, settled, soon, THEMES, violations } from "./harness.mjs";

const table = (page) => page.getByRole("region", { name: "Threads", exact: true }).locator("table");
const matrix = (page) =>
	page.getByRole("region", { name: "Which thread frees what another allocated" }).locator("table");
const cells = (row) => row.locator("th, td").allInnerTexts();

for (const theme of THEMES)
	for (const width of [1440, 1024])
		test(`both threads, what they allocate first, without a fault, ${theme} at ${width}`, async () => {
			const page = await open("#/threads", { theme, width });
			await soon(() => table(page).locator("tbody tr").count(), 2);
			const [first, second] = [
				await cells(table(page).locator("tbody tr").nth(0)),
				await cells(table(page).locator("tbody tr").nth(1)),
			];
			for (const row of [first, second]) assert.match(row[0], /^program \(\d+\)$/);
			const told = await page.evaluate(() =>
				fetch(`/api/v1/report?${new URLSearchParams({ c: "last", name: "threads" })}`, {
					headers: { Authorization: `Bearer ${sessionStorage.getItem("memtape.token")}` },
				}).then((r) => r.json()),
			);
			const most = told.threads.sort((a, b) => b.allocated_bytes - a.allocated_bytes)[0];
			assert.equal(first[0], `program (${most.tid})`);
			assert.equal(first[2].replace(/,/g, ""), String(most.allocated_count));
			await soon(() => table(page).locator("svg").count(), 2);
			const stack = (await table(page).locator("thead th").allInnerTexts()).findIndex((text) =>
				/^stack$/i.test(text),
			);
			assert.match(
				first[stack],
				most.stack_known === "pages"
					? /^[\d.,]+ [KMG]iB of [\d.,]+ [KMG]iB$/
					: /^≥ [\d.,]+ [KMG]?i?B of [\d.,]+ [KMG]iB$/,
			);
			assert.equal(
				await table(page)
					.locator("tbody tr")
					.nth(0)
					.locator(`:nth-child(${stack + 1}) data`)
					.first()
					.getAttribute("value"),
				String(most.stack_used_bytes),
			);
			assert.deepEqual(await violations(page), []);
			assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
			await clean(page);
		});

test("the matrix has a thread's own on the diagonal, and nobody for what is leaked", async () => {
	const page = await open("#/threads");
	await matrix(page).waitFor();
	const heads = await matrix(page).locator("thead th").allInnerTexts();
	assert.equal(heads.length, 4);
	assert.match(heads[3], /nobody/i);
	await soon(() => matrix(page).locator("tbody tr").count(), 2);
	const own = await Promise.all(
		[0, 1].map((i) => matrix(page).locator("tbody tr").nth(i).locator("td").nth(i).getAttribute("title")),
	);
	assert.equal(
		own.some((title) => /^(program \(\d+\)) → \1: [\d,]+ blocks?, /.test(title)),
		true,
		own.join(),
	); // one of them only leaks
	await soon(
		() => matrix(page).locator("tbody td[title*='→ nobody']").count(),
		(n) => n >= 1,
	);
	await clean(page);
});

test("a thread leads to its call sites, and Back to the threads", async () => {
	const page = await open("#/threads");
	const link = table(page).getByRole("link").first(),
		name = await link.innerText();
	await link.click();
	await has(page, "q", `thread = ${/\d+/.exec(name)[0]}`);
	await page.waitForFunction(() => location.hash.startsWith("#/sites"));
	await settled(page);
	await page.goBack();
	await table(page).waitFor();
	await clean(page);
});
