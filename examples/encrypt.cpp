// encrypt: encrypts a file by exclusive or with a key, chunk by chunk. It has two mistakes of its memory, which
// docs/recipes/where-memory-comes-from.md finds; built with -DFIXED it has none.
//
//	encrypt INPUT OUTPUT KEY
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

namespace
{
const std::size_t CHUNK_BYTES = 100000;

std::vector<char *> chunks; // the first mistake: all of them are kept until the program ends

__attribute__((noinline)) void process_chunk(const char *input, std::size_t count, const char *key, std::ofstream &output)
{
	const std::size_t key_bytes = std::strlen(key);
	char *chunk = new char[count];

	for (std::size_t i = 0; i < count; i++)
		chunk[i] = static_cast<char>(input[i] ^ key[i % key_bytes]);
	output.write(chunk, static_cast<std::streamsize>(count));
#ifdef FIXED
	delete[] chunk;
#else
	chunks.push_back(chunk);
#endif
}

__attribute__((noinline)) void read_in_chunks(std::ifstream &input, const char *key, std::ofstream &output)
{
	input.seekg(0, std::ios::end);
	const std::size_t file_bytes = static_cast<std::size_t>(input.tellg());
	input.seekg(0);
#ifdef FIXED
	std::vector<char> buffer(CHUNK_BYTES);

	while (input.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || input.gcount() > 0)
		process_chunk(buffer.data(), static_cast<std::size_t>(input.gcount()), key, output);
	(void)file_bytes;
#else
	std::vector<char> buffer(file_bytes); // the second one: a buffer as large as the file

	input.read(buffer.data(), static_cast<std::streamsize>(file_bytes));
	for (std::size_t at = 0; at < file_bytes; at += CHUNK_BYTES)
		process_chunk(&buffer[at], std::min(CHUNK_BYTES, file_bytes - at), key, output);
#endif
}
}

int main(int argc, char **argv)
{
	if (argc != 4 || !*argv[3]) {
		std::fputs("usage: encrypt INPUT OUTPUT KEY\n", stderr);
		return 2;
	}
	std::ifstream input(argv[1], std::ios::binary);
	std::ofstream output(argv[2], std::ios::binary);

	if (!input || !output) {
		std::perror("encrypt");
		return 1;
	}
	read_in_chunks(input, argv[3], output);
	return output.flush() ? 0 : 1;
}
