"""A tape with a leak scan, of which every number is known: blocks of random sizes, sites and classes."""

import random

import scan_image
from scan_image import DEFINITE, INDIRECT, POSSIBLE, REACHABLE, UNKNOWN
from tape_writer import TapeWriter

SITES = {"make": ("main", "load", "make"), "keep": ("main", "keep"), "cache": ("main", "load", "cache")}
CLASSES = {DEFINITE: "definitely_lost", INDIRECT: "indirectly_lost", POSSIBLE: "possibly_lost",
           REACHABLE: "still_reachable", UNKNOWN: "not_scanned"}
HOLDERS = [{"kind": scan_image.GLOBAL, "name": "g_sessions", "begin": 0x404000, "end": 0x404100},
           {"kind": scan_image.STACK, "tid": 100, "begin": 0x7ffe00000000, "end": 0x7ffe00100000},
           {"kind": scan_image.MAPPING, "name": "/dev/shm/ring", "begin": 0x7e0000000000, "end": 0x7e0000100000}]


class ScannedTape:
    """blocks: those live at the scan, by address, with the keys of scan_image.Image, "site" and "freed"."""

    def __init__(self, seed=1, count=60, trouble=""):
        self.random, self.tape, self.blocks = random.Random(seed), TapeWriter(), []
        self.stream = self.tape.stream(100, "shop")
        self.collector = self.tape.collector()
        self.tape.process(self.stream, "/opt/shop/bin/shop", "shop")
        self.tape.clock(self.stream)
        nodes = {site: self.stream.stack(*((name, 0x10 + 0x20 * i) for i, name in enumerate(path)))
                 for site, path in SITES.items()}
        for i in range(count):
            block = {"address": 0x5000000 + 0x1000 * i, "size": self.random.randrange(1, 900),
                     "site": self.random.choice(list(SITES)), "class": REACHABLE}
            self.tape.at(1 + i)
            self.stream.event(0, block["address"], block["size"], node=nodes[block["site"]])
            self.blocks.append(block)
        self.tape.at(count + 1)
        gone = self.blocks.pop(self.random.randrange(count))
        self.stream.event(1, gone["address"])
        self.graph()
        self.tape.at(count + 2)
        scan_image.begin(self.collector)
        self.tape.at(count + 3)
        self.late = self.blocks[0]  # freed after the scan
        self.stream.event(1, self.late["address"])
        known = [block for block in self.blocks if block["class"] != UNKNOWN]
        self.image = scan_image.Image([] if trouble else self.numbered(known), [] if trouble else HOLDERS, trouble,
                                      pause_ns=1_500_000, thread_count=2, missed_threads=1, heuristics=5)
        self.tape.at(count + 5)
        scan_image.result(self.collector, self.image)
        self.tape.clock(self.stream)
        self.stream.extended(23, (1).to_bytes(4, "little") + bytes(4))  # exit(0)

    def graph(self):
        """Trees, each block below an earlier one or at a holder, or lost; so dominators are parents."""
        for i, block in enumerate(self.blocks):
            kind = self.random.choice((DEFINITE, UNKNOWN, "holder", "block", "block", "block"))
            above = [other for other in self.blocks[:i] if other["class"] != UNKNOWN]
            block["above"] = None
            if kind == "block" and above:
                block["above"] = self.random.choice(above)
                lost = block["above"]["class"] in (DEFINITE, INDIRECT)
                interior = self.random.random() < .3
                block["class"] = INDIRECT if lost else POSSIBLE if interior else block["above"]["class"]
                block["interior"], block["offset"] = interior, 8 * self.random.randrange(20)
            elif kind in (DEFINITE, UNKNOWN):
                block["class"] = kind
            else:
                block["above"] = self.random.randrange(len(HOLDERS))
        for block in self.blocks:
            block["retained"] = sum(other["size"] for other in self.blocks
                                    if other["class"] != UNKNOWN and block in self.chain(other))

    def chain(self, block):
        """The block and what is above it, up to a holder's number, if one holds it."""
        chain = [block]
        while isinstance(chain[-1], dict) and chain[-1]["above"] is not None:
            chain.append(chain[-1]["above"])
        return chain

    def numbered(self, known):
        numbers = {block["address"]: i for i, block in enumerate(known)}
        for i, holder in enumerate(HOLDERS):
            holder["retained"] = sum(block["size"] for block in known if self.chain(block)[-1] == i)

        def node(above):
            return above if above is None else ~above if isinstance(above, int) else numbers[above["address"]]
        return [dict(block, parent=node(block["above"]), dominator=node(block["above"])) for block in known]

    def write(self, path):
        self.tape.write(path)
        return self.tape.names()

    def sums(self, blocks=None):
        blocks = self.blocks if blocks is None else blocks
        return {word: {"bytes": sum(block["size"] for block in blocks if block["class"] == kind),
                       "blocks": sum(block["class"] == kind for block in blocks)} for kind, word in CLASSES.items()}

    def records(self, blocks=None):
        """By class and site: bytes, blocks, and what is indirectly lost with them."""
        blocks, records = self.blocks if blocks is None else blocks, {}
        for block in blocks:
            if block["class"] != UNKNOWN:
                record = records.setdefault((CLASSES[block["class"]], block["site"]), [0, 0, 0, 0])
                record[0] += block["size"]
                record[1] += 1
        for block in self.blocks:
            lost = self.chain(block)[-1]
            if block["class"] == INDIRECT and lost in blocks:
                records["definitely_lost", lost["site"]][2] += block["size"]
                records["definitely_lost", lost["site"]][3] += 1
        return records
