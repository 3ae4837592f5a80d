declare module "virtual:pages" {
	export const pages: import("./registry").Page[];
}
