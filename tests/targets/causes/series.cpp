/*
 * series: reads measurements into a vector without reserving room, so that it is copied again and
 * again, and while it is copied there are two. A table of the right size is built at the start.
 */
#include <cstdio>
#include <string>
#include <vector>

namespace plant {

struct Sample {
	double when, value, low, high;
};

class Series {
public:
	void read(int count)
	{
		for (int i = 0; i < count; i++)
			samples_.push_back(Sample{i * 0.5, i * 0.25, 0, 1}); /* the cause */
	}

	double sum() const
	{
		double total = 0;

		for (const Sample &sample : samples_)
			total += sample.value;
		return total;
	}

private:
	std::vector<Sample> samples_;
};

class Sensors {
public:
	Sensors()
	{
		names_.reserve(20000);
		for (int i = 0; i < 20000; i++)
			names_.push_back("sensor-of-the-plant-number-" + std::to_string(i));
	}

	std::size_t count() const { return names_.size(); }

private:
	std::vector<std::string> names_;
};

}

int main()
{
	plant::Sensors sensors;
	double total = 0;

	for (int day = 0; day < 20; day++) {
		plant::Series series;

		series.read(150000 + day * 1000);
		total += series.sum();
	}
	std::printf("%zu sensors, %g\n", sensors.count(), total);
	return 0;
}
