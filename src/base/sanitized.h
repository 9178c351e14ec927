/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this a build with AddressSanitizer or ThreadSanitizer, as gcc and clang say it? Such a program takes many times
 * the memory and the time, has a heap of its own, and looks for leaks when it ends.
 */
#ifndef BASE_SANITIZED_H
#define BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
