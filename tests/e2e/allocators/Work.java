// As work.c, with memory outside of Java's heap, from four threads.
import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicInteger;
import sun.misc.Unsafe;

public class Work {
    static final AtomicInteger freed = new AtomicInteger(), allocated = new AtomicInteger();
    static Unsafe unsafe;

    static void work() {
        for (int i = 0; i < 200; i++) {
            long address = unsafe.allocateMemory(70008);
            allocated.incrementAndGet();
            if (i % 10 != 0) {
                unsafe.freeMemory(address);
                freed.incrementAndGet();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = (Unsafe) field.get(null);
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            threads[i] = new Thread(Work::work);
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        System.out.println("70008 " + allocated + " " + freed);
    }
}
