#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/process_fd.h"

/* A process that ends when it is killed, or that stands for itself: a pidfd, or what there was before. */
struct watched {
	pid_t pid;
	int fd;
};

static int folder_open(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void *wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* Its first thread ends at once; the other one with the process. */
static void live_without_first_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
		_exit(1);
	pthread_exit(NULL);
}

static struct watched watched_begin(bool is_folder)
{
	struct watched watched = { .pid = fork() };

	if (watched.pid == 0)
		live_without_first_thread();
	assert_true(watched.pid > 0);
	watched.fd = is_folder ? folder_open(watched.pid) : process_fd_open(watched.pid);
	assert_true(watched.fd >= 0);
	return watched;
}

static void is_dead_await(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

/* "Z" of its first thread, which is not the end. */
static void first_thread_await(pid_t pid)
{
	char path[64], text[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (!strstr(text, ") Z ")) {
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		fclose(file);
		usleep(1000);
	}
}

static void check_from_life_to_death(bool is_folder)
{
	const struct watched watched = watched_begin(is_folder);

	first_thread_await(watched.pid);
	assert_false(process_fd_has_ended(watched.fd));
	assert_true(process_fd_has_number(watched.fd));
	assert_int_equal(process_fd_polled(watched.fd), is_folder ? -1 : watched.fd);
	kill(watched.pid, SIGKILL);
	is_dead_await(watched.pid);
	assert_true(process_fd_has_ended(watched.fd));
	assert_true(process_fd_has_number(watched.fd));
	waitpid(watched.pid, NULL, 0);
	assert_true(process_fd_has_ended(watched.fd));
	assert_false(process_fd_has_number(watched.fd));
	close(watched.fd);
}

static void a_process_is_followed_to_its_end(void **state)
{
	(void)state;
	check_from_life_to_death(false);
}

static void by_its_folder_as_well(void **state)
{
	(void)state;
	check_from_life_to_death(true);
}

static void one_that_is_not_there_cannot_be_opened(void **state)
{
	(void)state;
	assert_int_equal(process_fd_open(0x7ffffff0), -1);
	assert_int_equal(errno, ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_followed_to_its_end),
		cmocka_unit_test(by_its_folder_as_well),
		cmocka_unit_test(one_that_is_not_there_cannot_be_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
