// The pipeline in SimGrid: one actor a server, semaphores between them.
//
// Arguments: chunks, then the three service times in nanoseconds. Prints the
// makespan in nanoseconds and the seconds of the fastest run.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

namespace sg = simgrid::s4u;

constexpr int RUNS = 5;
using Hosts = std::array<sg::Host*, 3>;
using Services = std::array<double, 3>;

// Puts a server on each host, and all chunks before the first.
static void populate(const Hosts& hosts, long chunks, const Services& services)
{
  sg::SemaphorePtr own = sg::Semaphore::create(chunks);
  for (std::size_t i = 0; i < hosts.size(); i++) {
    sg::SemaphorePtr next = i + 1 < hosts.size() ? sg::Semaphore::create(0) : nullptr;
    // A chunk holds no data: its turn in the line is all that it is.
    sg::Actor::create(hosts[i]->get_name(), hosts[i], [=, service = services[i]] {
      for (long chunk = 0; chunk < chunks; chunk++) {
        own->acquire();
        sg::this_actor::sleep_for(service);
        if (next)
          next->release();
      }
    });
    own = next;
  }
}

int main(int argc, char** argv)
{
  sg::Engine engine(&argc, argv);
  xbt_log_control_set("xbt_cfg.thres:warning"); // or it reports the next line
  // For processors alone the leanest of SimGrid's models, and as fast as any.
  sg::Engine::set_config("cpu/optim:TI");
  if (argc != 5) {
    std::fputs("four numbers: chunks and three service times\n", stderr);
    return 2;
  }
  // SimGrid counts seconds in floating point. A nanosecond is a second here,
  // so that every date is a whole number and exact.
  const long chunks = std::atol(argv[1]);
  const Services services{std::atof(argv[2]), std::atof(argv[3]), std::atof(argv[4])};

  auto* zone = sg::create_empty_zone("gpu");
  Hosts hosts;
  for (std::size_t i = 0; i < hosts.size(); i++)
    hosts[i] = zone->create_host(std::array{"H2D", "kernel", "D2H"}[i], 1.0)->seal();
  zone->seal();

  double makespan = 0.0;
  double best     = std::numeric_limits<double>::infinity();
  for (int run = 0; run < RUNS; run++) {
    populate(hosts, chunks, services);
    const double begin = sg::Engine::get_clock();
    const auto start   = std::chrono::steady_clock::now();
    engine.run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    best     = std::min(best, wall.count());
    makespan = sg::Engine::get_clock() - begin;
  }
  std::printf("%.0f %.9f\n", makespan, best);
}
