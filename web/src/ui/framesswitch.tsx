/* The choice of frames, in the toolbar of pages that show stacks. */
import type { JSX } from "preact";
import { FRAMES, frames, framesSet } from "../frames";
import { Segmented } from "./basics";

export function FramesSwitch(): JSX.Element | null {
	return REPORT ? null : <Segmented label="Frames" value={frames.value} choices={FRAMES} onChange={framesSet} />;
}
