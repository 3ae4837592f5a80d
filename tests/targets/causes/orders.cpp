/*
 * orders: reads rows, and makes an index of them. Built with REVISION 2 the index has every word of
 * a row instead of its number.
 */
#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#ifndef REVISION
#define REVISION 1
#endif

namespace orders {

struct Row {
	int number;
	std::string customer, goods;
};

class Index {
public:
	void add(const Row &row)
	{
#if REVISION == 1
		by_number_[row.number].push_back(&row);
#else
		for (std::size_t at = 0; at + 8 <= row.goods.size(); at += 2)
			by_word_[row.goods.substr(at) + row.customer].push_back(&row); /* the cause */
#endif
	}

	std::size_t size() const { return by_number_.size() + by_word_.size(); }

private:
	std::unordered_map<int, std::vector<const Row *>> by_number_;
	std::map<std::string, std::vector<const Row *>> by_word_;
};

std::vector<Row> read_rows(int count)
{
	std::vector<Row> rows;

	rows.reserve(count);
	for (int i = 0; i < count; i++)
		rows.push_back(Row{i, "customer-with-the-number-" + std::to_string(i * 7 % 1000),
				   "goods-number-" + std::to_string(i) + "-and-more-words"});
	return rows;
}

}

int main()
{
	std::vector<orders::Row> rows = orders::read_rows(8000);
	orders::Index index;

	for (const orders::Row &row : rows)
		index.add(row);
	std::printf("%zu rows, %zu in the index\n", rows.size(), index.size());
	return 0;
}
