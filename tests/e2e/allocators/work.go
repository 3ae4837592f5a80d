// As work.c, by cgo: goroutines that call C's allocator.
package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
)

var sizes = [4]C.size_t{7001, 7003, 7007, 14009}
var allocated, freed [4]atomic.Int32

func round(i int) {
	block := C.malloc(sizes[0])
	allocated[0].Add(1)
	if i%10 != 0 {
		C.free(block)
		freed[0].Add(1)
	}
	C.free(C.calloc(1, sizes[1]))
	allocated[1].Add(1)
	freed[1].Add(1)
	block = C.malloc(sizes[2])
	allocated[2].Add(1)
	block = C.realloc(block, sizes[3])
	freed[2].Add(1)
	allocated[3].Add(1)
	C.free(block)
	freed[3].Add(1)
}

func main() {
	var all sync.WaitGroup
	for g := 0; g < 4; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 200; i++ {
				round(i)
			}
		}()
	}
	all.Wait()
	for i, size := range sizes {
		fmt.Println(size, allocated[i].Load(), freed[i].Load())
	}
}
