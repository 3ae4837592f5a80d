/*
 * The list of tapes, asked for again while the page is on the screen. The next question waits for the answer of the one
 * before, however long that takes: only another order or search overtakes it.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, request, requestUrl } from "../api/client";
import type { FolderTape, FolderTapes } from "../api/answers";

const SOON_MS = 1000,
	LATER_MS = 5000,
	STEP = 200;

export interface Tapes {
	answer: FolderTapes | null;
	picked: readonly FolderTape[]; /* in the order in which they were chosen, as far as they are there */
	error: ApiError | null;
	need: (last: number) => void;
	retry: () => void;
}

async function ask(url: string): Promise<FolderTapes> {
	return (await (await request(url)).json()) as FolderTapes;
}

const isMoving = (answer: FolderTapes) => answer.unread > 0 || answer.tapes.some((t) => t.live);

export function useTapes(params: Readonly<Record<string, string | number>>, ids: readonly string[]): Tapes {
	const [state, setState] = useState<Omit<Tapes, "need" | "retry">>({ answer: null, picked: [], error: null });
	const [limit, setLimit] = useState(STEP);
	const [attempt, setAttempt] = useState(0);
	const question = requestUrl("tapes", { ...params, limit }),
		picked = ids.join();
	const turn = useRef(0); /* of the last question that somebody waits for */
	useEffect(() => {
		const mine = ++turn.current;
		let timer: ReturnType<typeof setTimeout> | undefined;
		const look = async () => {
			let wait = LATER_MS;
			try {
				if (!document.hidden) {
					const answer = await ask(question);
					const chosen = picked
						? await ask(`${requestUrl("tapes")}?id=${picked.split(",").join("&id=")}`)
						: null;
					if (turn.current !== mine) return;
					const of = new Map(chosen?.tapes.map((t) => [t.id, t]));
					const found = picked.split(",").flatMap((id) => of.get(id) ?? []);
					setState({ answer, picked: found, error: null });
					wait = isMoving(answer) ? SOON_MS : LATER_MS;
				}
			} catch (e) {
				if (turn.current !== mine) return;
				if (e instanceof ApiError) setState((s) => ({ ...s, error: e })); /* else the banner says it */
			}
			if (turn.current === mine) timer = setTimeout(() => void look(), wait);
		};
		void look();
		return () => {
			turn.current++;
			clearTimeout(timer);
		};
	}, [question, picked, attempt]);
	return {
		...state,
		need: (last) => {
			if (last >= limit) setLimit(Math.ceil((last + 1) / STEP) * STEP + STEP);
		},
		retry: () => setAttempt((n) => n + 1),
	};
}
