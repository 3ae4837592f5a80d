/*
 * most_free: the default moment of questions about the heap. Internal to questions.
 */
#ifndef MEMTAPE_QUESTIONS_MOST_FREE_H
#define MEMTAPE_QUESTIONS_MOST_FREE_H

#include "answer/question.h"

/* The parameter `at`; if not given, when most of the heap was free (space/rss.h), or the end. */
struct err *most_free_or_at(const struct asked *asked, uint64_t *ns_ret);

#endif
