/*
 * What every unit program includes: cmocka wants these headers before its own, in this order.
 * A test's name is a claim in words: a_failed_reader_stays_failed.
 */
#ifndef MEMTAPE_TESTS_UNIT_TEST_H
#define MEMTAPE_TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
