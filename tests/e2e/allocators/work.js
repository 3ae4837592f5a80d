// As work.c, with buffers outside of the heap of JavaScript, in the main thread and in workers.
const { Worker, isMainThread, parentPort } = require('worker_threads');
const kept = [];
for (let i = 0; i < 200; i++)
    kept.push(Buffer.allocUnsafeSlow(70001), Buffer.alloc(70003));
if (!isMainThread) {
    parentPort.once('message', () => process.exit(0));
    parentPort.postMessage(kept.length);
} else {
    let allocated = 200, waiting = 3;
    const workers = [1, 2, 3].map(() => new Worker(__filename));
    workers.forEach(worker => worker.on('message', length => {
        allocated += length / 2;
        if (--waiting === 0) {
            console.log(`70001 ${allocated} -\n70003 ${allocated} -`);
            workers.forEach(w => w.postMessage('end'));
        }
    }));
}
