//! As work.c, with what Rust's containers make of it.
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

const SIZES: [usize; 4] = [7001, 7003, 7007, 14009];
static ALLOCATED: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
static FREED: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

fn took(which: usize) {
    ALLOCATED[which].fetch_add(1, SeqCst);
}

fn gave(which: usize) {
    FREED[which].fetch_add(1, SeqCst);
}

fn round(i: usize) {
    let mut block: Vec<u8> = Vec::with_capacity(SIZES[0]);
    block.push(1);
    took(0);
    if i % 10 == 0 {
        std::mem::forget(std::hint::black_box(block));
    } else {
        drop(std::hint::black_box(block));
        gave(0);
    }
    let zeroed = std::hint::black_box(vec![0u8; SIZES[1]]);
    took(1);
    drop(zeroed);
    gave(1);
    let mut grown: Vec<u8> = std::hint::black_box(Vec::with_capacity(SIZES[2]));
    took(2);
    grown.push(1);
    grown.reserve_exact(SIZES[3] - 1);
    gave(2);
    took(3);
    drop(std::hint::black_box(grown));
    gave(3);
}

fn main() {
    let threads: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(|| (0..200).for_each(round)))
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    for i in 0..SIZES.len() {
        println!("{} {} {}", SIZES[i], ALLOCATED[i].load(SeqCst), FREED[i].load(SeqCst));
    }
}
