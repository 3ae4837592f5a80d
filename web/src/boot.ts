/* Before the first paint: the theme. */
let chosen: string | null = null;
try {
	chosen = localStorage.getItem("memtape.theme.v1");
} catch { /* no storage: as the system has it */ }
document.documentElement.dataset.theme =
	chosen === "light" || chosen === "dark" ? chosen : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
export {};
