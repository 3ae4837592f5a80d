/* Before Prism's core: it is not to look for code in the page by itself. */
(globalThis as { Prism?: unknown }).Prism = { manual: true };
export {};
