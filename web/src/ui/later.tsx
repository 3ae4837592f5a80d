/* A page of later.ts, when it has come. */
import type { ComponentType, JSX } from "preact";
import { useState, useEffect } from "preact/hooks";
import { Loading } from "./states";

type Later = typeof import("../later");
let arrived: Later | null = null,
	way: Promise<Later> | null = null;

/* Asks for them once; after a failure, again. */
export function laterLoad(): Promise<Later> {
	way ??= import("../later").then(
		(pages) => (arrived = pages),
		(error) => {
			way = null;
			throw error;
		},
	);
	return way;
}

export function later(name: keyof Later): ComponentType {
	return function LaterPage(): JSX.Element {
		const [failed, setFailed] = useState(false),
			[, again] = useState(0);
		useEffect(() => {
			if (!failed)
				laterLoad().then(
					() => again(1),
					() => setFailed(true),
				);
		}, [failed]); /* they may have come since it was drawn */
		if (failed)
			return (
				<div class="state" role="alert">
					<h2>This page is no longer on the server</h2>
					<p>The server may have been updated.</p>
					<div class="actions">
						<button type="button" class="button small" onClick={() => setFailed(false)}>
							Try again
						</button>
						<button type="button" class="button small" onClick={() => location.reload()}>
							Reload
						</button>
					</div>
				</div>
			);
		const Shown = arrived?.[name];
		return Shown ? <Shown /> : <Loading rows={6} height={40} />;
	};
}
