// A small thread pool.  Threads are started when first needed and sleep between calls; the calling thread
// always takes part.  After a fork the child finds that the pool belongs to another process and starts
// its own.  If the pool is busy with a call from another Python thread, work runs inline.
#pragma once

namespace mercer {

// Calls body(context, worker) on up to `threads` threads at once, with distinct workers in [0, threads),
// and returns when all of them have.  The body must share out the work itself and must cope with fewer
// threads than it asked for.  If bodies throw, one of the exceptions is thrown on, after all have returned.
void run_on_threads(int threads, void (*body)(void* context, int worker), void* context);

template <class F>
void run_on_threads(int threads, F& body) {
  run_on_threads(
      threads, [](void* context, int worker) { (*static_cast<F*>(context))(worker); }, &body);
}

// Ends and joins the threads; a later call starts new ones.
void stop_threads();

}  // namespace mercer
