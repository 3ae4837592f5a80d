#include "../test.h"

#include "stream/sha256.h"

static void hex(const uint8_t *bytes, char text[65])
{
	for (unsigned i = 0; i < SHA256_BYTES; i++) {
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	text[64] = '\0';
}

/* FIPS 180-4's examples. */
static void digests_are_those_of_the_standard(void **state)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	uint8_t digest[SHA256_BYTES];
	char text[65];

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct sha256 sha;

		sha256_init(&sha);
		sha256_add(&sha, rows[i].text, strlen(rows[i].text));
		sha256_get(&sha, digest);
		hex(digest, text);
		assert_string_equal(text, rows[i].digest);
	}
}

static void parts_of_any_size_make_the_same_digest(void **state)
{
	uint8_t bytes[300], whole[SHA256_BYTES], parts[SHA256_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	for (size_t part = 1; part < sizeof(bytes); part++) {
		struct sha256 one, other;

		sha256_init(&one);
		sha256_init(&other);
		sha256_add(&one, bytes, sizeof(bytes));
		for (size_t at = 0; at < sizeof(bytes); at += part)
			sha256_add(&other, bytes + at, (size_t)u64_min(part, sizeof(bytes) - at));
		sha256_get(&one, whole);
		sha256_get(&other, parts);
		assert_true(sha256_equal(whole, parts));
	}
}

/* RFC 4231, test cases 2 and 6. */
static void codes_are_those_of_the_standard(void **state)
{
	static const char first[] = "what do ya want ", second[] = "for nothing?";
	static const char long_text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	const void *texts[3] = { first, second, "" };
	size_t lens[3] = { sizeof(first) - 1, sizeof(second) - 1, 0 };
	uint8_t key[131], mac[SHA256_BYTES];
	char text[65];

	(void)state;
	sha256_hmac("Jefe", 4, texts, lens, mac);
	hex(mac, text);
	assert_string_equal(text,
			    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	texts[0] = long_text;
	lens[0] = sizeof(long_text) - 1;
	lens[1] = 0;
	sha256_hmac(key, sizeof(key), texts, lens, mac);
	hex(mac, text);
	assert_string_equal(text,
			    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_are_those_of_the_standard),
		cmocka_unit_test(parts_of_any_size_make_the_same_digest),
		cmocka_unit_test(codes_are_those_of_the_standard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
