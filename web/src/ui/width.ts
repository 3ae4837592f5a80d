/* How wide an element is, in pixels, as it changes; 0 before the first layout. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export function useWidth(ref: RefObject<Element | null>): number {
	const [width, setWidth] = useState(0);
	useLayoutEffect(() => {
		const look = () => setWidth(Math.round(ref.current?.getBoundingClientRect().width ?? 0)),
			watch = new ResizeObserver(look);
		watch.observe(ref.current!);
		look();
		return () => watch.disconnect();
	}, []);
	return width;
}
