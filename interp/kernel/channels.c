/* channels.c: the sockets of the channels and their thread. See channels.h. */
#include "interp/kernel/channels_internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interp/kernel/libs.h"

enum {
    WAITING_MOST = 1000,      /* requests, from which on the shell is not read */
    PARTS_MOST = 1000,        /* of a message */
    MESSAGE_MOST = 256 << 20, /* bytes of a message */
    TURN_MOST = 100,          /* messages of a channel, or parts of heartbeats, before others have their turn */
    PUBLISHED_MOST = 2000,    /* messages that are kept for a client; half of them are read before it has room again */
    GATHER_MS = 10,           /* what text waits for more */
    RETRY_MS = 5,             /* while a client does not read */
    PATIENCE_MS = 5000,
    LINGER_MS = 1000,
    BIND_MS = 3000,   /* what a taken port is waited for */
    AGAIN_MS = 100,   /* between interrupts for a shutdown */
    PARENT_MS = 1000, /* between looks for the process that has started this one */
    THREADS = 3,      /* of a kernel: the channels', and two of ZeroMQ */
    COMPLAINTS = 100, /* that are told at once; then one each COMPLAINT_MS, until nobody has complained for a while */
    COMPLAINT_MS = 100
};

static const int socket_types[KERNEL_CHANNELS] = {[KERNEL_SHELL] = ZMQ_ROUTER,
                                                  [KERNEL_CONTROL] = ZMQ_ROUTER,
                                                  [KERNEL_STDIN] = ZMQ_ROUTER,
                                                  [KERNEL_IOPUB] = ZMQ_XPUB,
                                                  [KERNEL_HEARTBEAT] = ZMQ_ROUTER};
static const char *const channel_names[KERNEL_CHANNELS] = {"shell", "control", "stdin", "iopub", "heartbeat"};

static struct {
    void *context, *sockets[KERNEL_CHANNELS];
    neap_waker *waker; /* the thread's */
    pthread_t thread;
    pid_t parent;
    bool watched;
    _Atomic bool closing;
    _Atomic bool stopping;  /* a shutdown_request has come, or the kernel is orphaned */
    bool gathering;         /* text has come, and waits for more */
    int64_t gathered;       /* when it came first */
    int64_t blocked, poked; /* since when a client does not read, 0: all do; when the last interrupt was sent */
} io;

static struct {
    pthread_mutex_t mutex;
    int64_t due;       /* when as many had been told if there was one each COMPLAINT_MS */
    unsigned left_out; /* since the last one that was told */
} complaints = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Whether one more complaint is told; sets how many were left out before it. A client that means ill must not fill the
 * disk, and what is wrong an hour later must be told. */
static bool may_complain(unsigned *left_out) {
    pthread_mutex_lock(&complaints.mutex);
    int64_t now = now_ms();
    bool told = complaints.due - now < COMPLAINTS * COMPLAINT_MS;
    if (told) {
        complaints.due = (complaints.due > now ? complaints.due : now) + COMPLAINT_MS;
        *left_out = complaints.left_out;
        complaints.left_out = 0;
    } else {
        complaints.left_out++;
    }
    pthread_mutex_unlock(&complaints.mutex);
    return told;
}

void kernel_complain(const char *format, ...) {
    char line[512];
    unsigned left_out = 0;
    if (!may_complain(&left_out))
        return;
    int used = snprintf(line, sizeof line, "neap kernel: ");
    if (left_out > 0)
        used += snprintf(line + used, sizeof line - (size_t)used, "(%u complaints before this one are not told) ",
                         left_out);
    va_list args;
    va_start(args, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
    va_end(args);
    size_t bytes = used < (int)sizeof line - 1 ? (size_t)used : sizeof line - 2;
    line[bytes] = '\n';
    if (write(kernel_streams_stderr(), line, bytes + 1) < 0)
        return; /* there is nowhere left to say so */
}

bool kernel_orphaned(void) {
    return io.watched && io.parent != getppid();
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

/* Reads one message. NULL: none is there, or it was too large, which is told. */
static kernel_message *receive_message(int channel) {
    kernel_message *made = kernel_message_new(channel);
    int more = 1;
    bool fits = made != NULL, any = false;
    zmq_frame frame;
    kernel_lib.zmq_msg_init(&frame);
    while (more && kernel_lib.zmq_msg_recv(&frame, io.sockets[channel], ZMQ_DONTWAIT) >= 0) {
        any = true;
        size_t bytes = kernel_lib.zmq_msg_size(&frame);
        fits = fits && made->count < PARTS_MOST && bytes < MESSAGE_MOST - made->bytes &&
               kernel_message_add(made, kernel_lib.zmq_msg_data(&frame), bytes);
        more = kernel_lib.zmq_msg_more(&frame);
    }
    kernel_lib.zmq_msg_close(&frame);
    if (fits && any)
        return made;
    if (any)
        kernel_complain("%s: a message of too many parts or bytes is ignored", channel_names[channel]);
    kernel_message_free(made);
    return NULL;
}

/* The heartbeat's clients wait for what they have sent. It goes back part by part, whatever it is, to who has sent it:
 * so no message of one client's can keep those of others from being answered. */
static void echo_heartbeats(void) {
    void *socket = io.sockets[KERNEL_HEARTBEAT];
    zmq_frame part;
    kernel_lib.zmq_msg_init(&part);
    for (int parts = 0, more = 0; parts < TURN_MOST || more; parts++) {
        if (kernel_lib.zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0)
            break;
        more = kernel_lib.zmq_msg_more(&part);
        kernel_lib.zmq_msg_send(&part, socket, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
    }
    kernel_lib.zmq_msg_close(&part);
}

/* Other threads block the signal. As Ctrl-C it is for children too, if the process leads a group of its own. */
static void interrupt_user_thread(void) {
    kill(getpgrp() == getpid() ? 0 : getpid(), SIGINT);
    io.poked = now_ms();
}

/* What must not wait for the user thread. */
static void look_at_control(const kernel_message *message) {
    const kernel_part *header = kernel_message_part(message, KERNEL_HEADER);
    bool shutdown = kernel_has_member(header->at, header->bytes, "msg_type", "shutdown_request");
    if (shutdown)
        io.stopping = true;
    if (shutdown || kernel_has_member(header->at, header->bytes, "msg_type", "interrupt_request"))
        interrupt_user_thread();
}

static bool may_receive(int channel) {
    return channel != KERNEL_SHELL || kernel_queue_waiting() < WAITING_MOST;
}

static void receive_requests(int channel) {
    for (int k = 0; k < TURN_MOST && may_receive(channel); k++) {
        kernel_message *message = receive_message(channel);
        if (!message)
            return;
        const char *problem = kernel_message_check(message);
        if (problem) {
            kernel_complain("%s: %s; it is ignored", channel_names[channel], problem);
            kernel_message_free(message);
            continue;
        }
        if (channel == KERNEL_CONTROL)
            look_at_control(message);
        kernel_queue_received(message);
    }
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

static void set_option(int channel, int option, int value) {
    kernel_lib.zmq_setsockopt(io.sockets[channel], option, &value, sizeof value);
}

/* Sends a whole message, or nothing. False: a client has no room for it. A socket takes all parts if it takes the first
 * one. */
static bool send_message(const kernel_message *message) {
    for (int k = 0; k < message->count; k++) {
        int flags = ZMQ_DONTWAIT | (k + 1 < message->count ? ZMQ_SNDMORE : 0);
        const kernel_part *part = &message->parts[k];
        if (kernel_lib.zmq_send(io.sockets[message->channel], part->at, part->bytes, flags) >= 0)
            continue;
        int error = kernel_lib.zmq_errno();
        if (error == EAGAIN && k == 0 && message->channel == KERNEL_IOPUB)
            return false;
        kernel_complain("%s: a message cannot be sent: %s", channel_names[message->channel],
                        kernel_lib.zmq_strerror(error));
        break;
    }
    return true;
}

/* Who subscribes says so to an XPUB socket: a byte 1 and the topic. The welcome goes before what is queued, of which a
 * client would else get messages in front of it. */
static void welcome_subscribers(void) {
    kernel_message *message;
    while ((message = receive_message(KERNEL_IOPUB)) != NULL) {
        const kernel_part *part = &message->parts[0];
        bool comes = part->bytes > 0 && part->at[0] == 1;
        kernel_message *welcome = comes ? kernel_welcome(part->at + 1, part->bytes - 1) : NULL;
        if (comes && !welcome)
            kernel_complain("iopub: there is no memory to welcome a client");
        if (welcome && send_message(welcome))
            kernel_message_free(welcome);
        else if (welcome)
            kernel_queue_to_send(welcome);
        kernel_message_free(message);
    }
}

/* A client does not read. The patience with it over, the message is sent to those alone who have room. From then on the
 * socket leaves out who had none, until it reads: the others are waited for as before. False: it is waited for yet. */
static bool send_past_blocked(const kernel_message *message) {
    int64_t now = now_ms();
    if (io.blocked == 0)
        io.blocked = now;
    if (now - io.blocked < PATIENCE_MS)
        return false;
    kernel_complain("iopub: a client has not read for %d s: it loses what it has no room for", PATIENCE_MS / 1000);
    set_option(KERNEL_IOPUB, ZMQ_XPUB_NODROP, 0);
    bool sent = send_message(message);
    set_option(KERNEL_IOPUB, ZMQ_XPUB_NODROP, 1);
    return sent;
}

static void send_queued(void) {
    kernel_message *message;
    while ((message = kernel_queue_first()) != NULL) {
        welcome_subscribers();
        if (!send_message(message) && !send_past_blocked(message))
            return;
        io.blocked = 0;
        kernel_queue_remove_first();
    }
}

/* Text that comes bit by bit is sent together. */
static void collect_text(bool woken) {
    if (woken && !io.gathering) {
        io.gathering = true;
        io.gathered = now_ms();
    }
    if (!io.gathering || now_ms() - io.gathered < GATHER_MS)
        return;
    io.gathering = false;
    kernel_streams_collect(false);
    if (kernel_queue_kept() > KERNEL_KEPT_MOST) { /* some may be left */
        io.gathering = true;
        io.gathered = now_ms();
    }
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static long timeout_ms(void) {
    if (io.gathering)
        return GATHER_MS;
    if (io.blocked)
        return RETRY_MS;
    return io.stopping ? AGAIN_MS : io.watched ? PARENT_MS : -1;
}

static void attend_sockets(void) {
    enum { WAKER = KERNEL_CHANNELS, PIPES, ITEMS = PIPES + 2 };
    zmq_item items[ITEMS];
    for (int k = 0; k < KERNEL_CHANNELS; k++)
        items[k] = (zmq_item){.socket = io.sockets[k], .events = may_receive(k) ? ZMQ_POLLIN : 0};
    items[WAKER] = (zmq_item){.fd = neap_waker_fd(io.waker), .events = ZMQ_POLLIN};
    for (int k = 0; k < 2; k++)
        items[PIPES + k] = (zmq_item){.fd = kernel_streams_pipes()[k], .events = io.gathering ? 0 : ZMQ_POLLIN};
    kernel_lib.zmq_poll(items, ITEMS, timeout_ms());
    if (items[KERNEL_HEARTBEAT].revents)
        echo_heartbeats();
    if (items[KERNEL_IOPUB].revents)
        welcome_subscribers();
    for (int k = KERNEL_SHELL; k <= KERNEL_STDIN; k++)
        if (items[k].revents)
            receive_requests(k);
    if (items[WAKER].revents)
        neap_waker_clear(io.waker);
    collect_text(items[WAKER].revents || items[PIPES].revents || items[PIPES + 1].revents);
    if (!io.closing && kernel_orphaned())
        io.stopping = true;
    if (io.stopping && now_ms() - io.poked >= AGAIN_MS)
        interrupt_user_thread(); /* code that was about to end may have begun anew */
    send_queued();
}

static void *kernel_thread_main(void *arg) {
    (void)arg;
    int64_t limit = 0;
    while (!limit || (kernel_queue_first() && now_ms() < limit)) {
        attend_sockets();
        if (io.closing && !limit) {
            io.stopping = false;
            limit = now_ms() + LINGER_MS;
        }
    }
    for (int k = 0; k < KERNEL_CHANNELS; k++) {
        set_option(k, ZMQ_LINGER, LINGER_MS);
        kernel_lib.zmq_close(io.sockets[k]);
    }
    kernel_lib.zmq_ctx_term(io.context);
    return NULL;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Who starts a kernel looks for free ports and lets go of them again, so for a moment another one may have one of them:
 * mostly the near end of a connection, such as of a client that looks whether the kernel is there yet. */
static bool bind_soon(void *socket, const char *endpoint) {
    int64_t limit = now_ms() + BIND_MS;
    while (kernel_lib.zmq_bind(socket, endpoint) != 0) {
        if (kernel_lib.zmq_errno() != EADDRINUSE || now_ms() >= limit)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
    }
    return true;
}

static const char *bind_channel(int channel, const char *endpoint) {
    static char problem[300];
    io.sockets[channel] = kernel_lib.zmq_socket(io.context, socket_types[channel]);
    if (!io.sockets[channel])
        return kernel_lib.zmq_strerror(kernel_lib.zmq_errno());
    set_option(channel, ZMQ_LINGER, LINGER_MS);
    if (channel <= KERNEL_STDIN)
        set_option(channel, ZMQ_ROUTER_HANDOVER, 1); /* a client that comes back keeps its identity */
    if (channel == KERNEL_IOPUB) {
        set_option(channel, ZMQ_SNDHWM, PUBLISHED_MOST);
        set_option(channel, ZMQ_XPUB_VERBOSE, 1); /* each client says so, not only the first one */
        set_option(channel, ZMQ_XPUB_NODROP, 1);
    }
    if (bind_soon(io.sockets[channel], endpoint))
        return NULL;
    snprintf(problem, sizeof problem, "cannot bind the %s channel to %s: %s", channel_names[channel], endpoint,
             kernel_lib.zmq_strerror(kernel_lib.zmq_errno()));
    return problem;
}

static const char *thread_problem(int error) {
    static char problem[200];
    char text[128];
    snprintf(problem, sizeof problem, "cannot start a thread: %s", strerror_r(error, text, sizeof text));
    return problem;
}

static void *wait_for_end(void *barrier) {
    pthread_mutex_lock(barrier);
    pthread_mutex_unlock(barrier);
    return NULL;
}

/* Whether a kernel's threads can be had, its own and those of ZeroMQ, which ends the process where it gets none: makes
 * as many at once, and lets them go. Returns 0 or errno. */
static int try_threads(void) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t made[THREADS];
    int count = 0, error = 0;
    pthread_mutex_lock(&gate);
    while (count < THREADS && !(error = pthread_create(&made[count], NULL, wait_for_end, &gate)))
        count++;
    pthread_mutex_unlock(&gate);
    while (count > 0)
        pthread_join(made[--count], NULL);
    return error;
}

const char *kernel_open(const kernel_setup *setup) {
    const char *problem = kernel_libs_load();
    if (problem)
        return problem;
    io.parent = getppid();
    io.watched = setup->watched;
    if (!kernel_key_set(setup->key, setup->key_bytes))
        return "there is no memory for the key that messages are signed with";
    int error = try_threads();
    if (error)
        return thread_problem(error);
    io.context = kernel_lib.zmq_ctx_new();
    if (!io.context || neap_waker_new(&io.waker) != NEAP_OK)
        return "there is no memory for a kernel";
    for (int k = 0; k < KERNEL_CHANNELS && !problem; k++)
        problem = bind_channel(k, setup->endpoints[k]);
    if (problem)
        return problem;
    kernel_session_set(setup->session, setup->waker, io.waker);
    if ((problem = kernel_streams_open(io.waker)) != NULL) {
        kernel_streams_close();
        return problem;
    }
    sigset_t blocked, before;
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    error = pthread_create(&io.thread, NULL, kernel_thread_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        kernel_streams_close();
        return thread_problem(error);
    }
    pthread_setname_np(io.thread, "neap-kernel");
    return NULL;
}

void kernel_close(void) {
    kernel_streams_collect(true);
    io.closing = true;
    neap_waker_wake(io.waker);
    pthread_join(io.thread, NULL);
    kernel_streams_close();
}
