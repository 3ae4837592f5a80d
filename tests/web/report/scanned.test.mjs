// The one-file report of a tape with a leak scan.
import { test } from "node:test";
import { clean, has, open, settled, soon } from "../browser/harness.mjs";

test("retained size is a measure of the flame graph and the call tree", async () => {
	const page = await open("#/flame?v=1");
	await page.getByRole("button", { name: "More measures" }).click();
	await page.getByRole("button", { name: "Retained size" }).click();
	await has(page, "m", "retained");
	await page.getByRole("tree", { name: "Flame graph, Retained size" }).waitFor();
	await settled(page);
	await page.locator("canvas.flame-canvas").focus();
	await page.keyboard.press("t");
	await settled(page);
	await page.getByRole("treegrid").focus();
	await page.keyboard.press("*");
	await soon(() => page.getByRole("treegrid").innerText(), /main[^]*70\.0 KiB[^]*lose[^]*31\.3 KiB/);
	await clean(page);
});
