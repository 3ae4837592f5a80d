/* The answers of the server's /api/v1 (docs/http-api.md). */
export * from "./answers";
import type { Info as AnyInfo, Tape as AnyTape, TapeDetail as AnyDetail } from "./answers";

/* One that was read: pages are shown of no other. */
export type Tape = Required<AnyTape>;
export type Info = Omit<AnyInfo, "tapes"> & { tapes: Tape[] };
export type TapeDetail = Omit<AnyDetail, "tape"> & { tape: Tape };

export interface ErrorBody {
	message: string;
	hint: string | null;
	parameter: string | null;
	pos: number | null; /* bytes into the parameter's value */
	len: number | null;
	suggest: string | null;
}
